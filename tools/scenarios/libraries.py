#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is said of healthy programs of others?  libraries.py [NAME ...] [--program PROGRAM] [--keep FOLDER]

    python3 -m venv FOLDER                         # outside the repository
    FOLDER/bin/pip install torch torchvision transformers peft timm diffusers torch_geometric
    FOLDER/bin/python tools/scenarios/libraries.py --program build/src/cli/analyze_profile

Small models of well-known libraries train, infer or generate on one thread of the CPU as their documents show it, under
torch.profiler with stacks and shapes; the program then judges each recording. Nothing is planted, so a finding of severity
high or critical is an alarm, and exit code 1. One program does without the cache of keys, and has to be told so. Stacks of
libraries, their decorators, caches and layers are what small loops of one's own lack. Programs of libraries that are not
installed are left out, loudly. The recordings are too large to be kept; times differ from run to run.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile, schedule

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ALARMING = ("critical", "high")
WARM_UP_STEPS, STEPS = 2, 3
MUST_SAY = {"generate_without_cache": "growing-prefix"}
PROGRAMS = {}


def program(make):
    """Of a function that returns the step of a loop."""
    PROGRAMS[make.__name__] = make
    return make


def training(model, loss_of):
    optimizer = torch.optim.AdamW([tensor for tensor in model.parameters() if tensor.requires_grad], fused=True)

    def step():
        loss = loss_of(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return step


def classifying(model, batch, size):
    pictures, labels = torch.randn(batch, 3, size, size), torch.randint(0, 10, (batch,))
    return training(model, lambda net: F.cross_entropy(net(pictures), labels))


def inferring(model, *inputs, **named):
    model.eval()

    def step():
        with torch.inference_mode():
            model(*inputs, **named)
    return step


def words(batch, length, vocabulary):
    return torch.randint(3, vocabulary, (batch, length))


@program
def convnet():
    import torchvision
    return classifying(torchvision.models.resnet18(num_classes=10), 8, 96)


@program
def vision_transformer():
    import torchvision
    return inferring(torchvision.models.vit_b_32(image_size=96), torch.randn(4, 3, 96, 96))


@program
def convnext():
    import timm
    return classifying(timm.create_model("convnext_atto", num_classes=10), 8, 96)


@program
def efficientnet():
    import timm
    return inferring(timm.create_model("efficientnet_b0"), torch.randn(8, 3, 128, 128))


@program
def recurrent():
    embedding, head = torch.nn.Embedding(200, 128), torch.nn.Linear(256, 200)
    lstm = torch.nn.LSTM(128, 256, 2, batch_first=True)
    text = words(16, 64, 200)
    return training(torch.nn.ModuleList([embedding, lstm, head]),
                    lambda _: F.cross_entropy(head(lstm(embedding(text))[0]).flatten(0, 1), text.flatten()))


def bert(transformers):
    return transformers.BertModel(transformers.BertConfig(num_hidden_layers=4, hidden_size=256, num_attention_heads=4,
                                                          intermediate_size=1024, vocab_size=5000))


@program
def encoder():
    import transformers
    return inferring(bert(transformers), input_ids=words(4, 64, 5000))


@program
def adapters():
    import peft
    import transformers
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
        vocab_size=8000))
    text = words(2, 128, 8000)
    adapted = peft.get_peft_model(model, peft.LoraConfig(target_modules=["q_proj", "v_proj"], r=8))
    return training(adapted, lambda net: net(input_ids=text, labels=text).loss)


@program
def experts():
    import transformers
    model = transformers.MixtralForCausalLM(transformers.MixtralConfig(
        hidden_size=128, intermediate_size=256, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
        num_local_experts=8, vocab_size=4000))
    text = words(4, 64, 4000)
    return training(model, lambda net: net(input_ids=text, labels=text).loss)


@program
def speech():
    import transformers
    model = transformers.Wav2Vec2ForCTC(transformers.Wav2Vec2Config(
        hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256, conv_dim=(64,) * 7,
        vocab_size=32))
    sound, text = torch.randn(2, 16000), words(2, 12, 32)
    return training(model, lambda net: net(sound, labels=text).loss)


def generating(**named):
    import transformers
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=4, n_embd=256, n_head=4, vocab_size=8000)).eval()
    prompt = words(2, 32, 8000)
    return lambda: model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=24, do_sample=False,
                                  pad_token_id=0, **named)


@program
def generate():
    return generating()


@program
def generate_without_cache():
    return generating(use_cache=False)


@program
def beams():
    import transformers
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(
        d_model=128, num_layers=3, num_heads=4, d_ff=256, vocab_size=4000, decoder_start_token_id=0)).eval()
    text = words(2, 40, 4000)
    return lambda: model.generate(text, max_new_tokens=16, num_beams=4)


def denoiser(diffusers):
    return diffusers.UNet2DModel(sample_size=32, block_out_channels=(32, 64), layers_per_block=1, norm_num_groups=8,
                                 down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                                 up_block_types=("AttnUpBlock2D", "UpBlock2D"))


@program
def diffusion():
    import diffusers
    scheduler, pictures = diffusers.DDPMScheduler(), torch.randn(4, 3, 32, 32)

    def loss_of(model):
        noise, times = torch.randn_like(pictures), torch.randint(0, 1000, (4,))
        return F.mse_loss(model(scheduler.add_noise(pictures, noise, times), times).sample, noise)
    return training(denoiser(diffusers), loss_of)


@program
def graph_network():
    from torch_geometric.nn import GCNConv
    first, second = GCNConv(64, 128), GCNConv(128, 7)
    nodes, edges, labels = torch.randn(3000, 64), torch.randint(0, 3000, (2, 20000)), torch.randint(0, 7, (3000,))
    return training(torch.nn.ModuleList([first, second]),
                    lambda _: F.cross_entropy(second(first(nodes, edges).relu(), edges), labels))


def record(step, path):
    for _ in range(WARM_UP_STEPS):
        step()
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=WARM_UP_STEPS, active=STEPS),
                 with_stack=True, record_shapes=True,
                 on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path))) as profiler:
        for _ in range(WARM_UP_STEPS + STEPS):
            step()
            profiler.step()


def judge(name, program_path, trace):
    """The line that tells of it, and whether it is as it should be."""
    done = subprocess.run([program_path, trace, "--format", "json", "--quiet"], capture_output=True, check=True)
    said = [(finding["rule_id"], finding["severity"]) for finding in json.loads(done.stdout)["findings"]
            if finding["severity"] != "info"]
    wanted = MUST_SAY.get(name)
    right = said[:1] and said[0][0] == wanted if wanted else not any(severity in ALARMING for _, severity in said)
    line = ", ".join(f"{rule} ({severity})" for rule, severity in said) or "nothing above a remark"
    return f"{'ok' if right else 'NOT OK':7}{name}: {line}", bool(right)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all, or some of {', '.join(PROGRAMS)}")
    parser.add_argument("--program", default=ROOT / "build" / "src" / "cli" / "analyze_profile")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the recordings here")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(PROGRAMS)
    if unknown:
        parser.error(f"no program is called {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name in arguments.names or PROGRAMS:
            torch.manual_seed(0)
            try:
                step = PROGRAMS[name]()
            except ImportError as lack:
                print(f"skipped {name}: {lack}", flush=True)
                continue
            record(step, folder / f"{name}.json.gz")
            line, right = judge(name, arguments.program, folder / f"{name}.json.gz")
            failed += not right
            print(line, flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
