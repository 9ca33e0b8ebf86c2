#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Record the real traces of fixtures/recorded with torch.profiler on the CPU.

    python3 -m venv /tmp/torch-venv                       # outside the repository; PyTorch is needed for recording only
    /tmp/torch-venv/bin/pip install torch numpy
    /tmp/torch-venv/bin/python tools/record_cpu_step.py [--out fixtures/recorded]

The files there were recorded with PyTorch 2.15.0 on one core of an x86-64 machine, without a GPU. Times differ from
run to run, so recording again changes them; nothing is simulated and no event is left out.

training_step_cpu.json.gz      a small convolutional network trained on synthetic images: 4 recorded steps after one of
                               waiting and one of warm-up, DataLoader in the training process, shapes and
                               memory recorded
inference_cpu_stacks.json.gz   a small multi-layer network answering 3 requests, with Python stacks

Before writing, whatever names the machine is replaced in the text: host, user, folders, process and trace ids. The rest of
the text stays as the profiler wrote it. The script refuses to write a file in which such a name is left.
"""
import argparse
import getpass
import gzip
import io
import json
import os
import re
import socket
import sys
import sysconfig
import tempfile

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.data import DataLoader, Dataset

WAIT_STEPS, WARMUP_STEPS, ACTIVE_STEPS = 1, 1, 4
PUBLIC_PROCESS_ID = 4242          # stands for the real one, which means nothing elsewhere


class SyntheticImages(Dataset):
    """Images made on request, as a decoder would: the loader has something to do."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        image = torch.rand(1, 3, 224, 224, generator=generator)
        image = torch.nn.functional.interpolate(image, size=(32, 32), mode="bilinear", antialias=True)
        return (image[0] - 0.5) / 0.25, index % 10


class SmallConvNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4))
        self.head = torch.nn.Linear(32 * 16, 10)

    def forward(self, images):
        return self.head(self.features(images).flatten(1))


class SmallMlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(256, 256) for _ in range(3))
        self.norm = torch.nn.LayerNorm(256)
        self.head = torch.nn.Linear(256, 16)

    def forward(self, rows):
        for layer in self.layers:
            rows = torch.nn.functional.gelu(layer(rows))
        return self.head(self.norm(rows)).softmax(dim=-1)


def record_training(path):
    torch.manual_seed(0)
    model, loss_of = SmallConvNet(), torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    steps = WAIT_STEPS + WARMUP_STEPS + ACTIVE_STEPS
    loader = DataLoader(SyntheticImages(16 * steps), batch_size=16, num_workers=0)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True,
                 schedule=schedule(wait=WAIT_STEPS, warmup=WARMUP_STEPS, active=ACTIVE_STEPS),
                 on_trace_ready=lambda p: p.export_chrome_trace(path)) as profiler:
        for images, labels in loader:
            optimizer.zero_grad()
            loss = loss_of(model(images), labels)
            loss.backward()
            optimizer.step()
            loss.item()
            profiler.step()


def record_inference(path):
    torch.manual_seed(0)
    model, rows = SmallMlp().eval(), torch.rand(64, 256)
    with torch.inference_mode():
        model(rows)
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True) as profiler:
            for request in range(3):
                with record_function("request %d" % request):
                    model(rows).argmax(dim=-1).tolist()
    profiler.export_chrome_trace(path)


def machine_names():
    """Texts that would tell where the recording was made, longest first, and what stands for them."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    names = {sysconfig.get_paths()["purelib"]: "site-packages", sysconfig.get_paths()["platlib"]: "site-packages",
             sysconfig.get_paths()["stdlib"]: "lib", sys.prefix: "python", sys.base_prefix: "python", here: "project",
             os.getcwd(): "project", tempfile.gettempdir(): "log", os.path.expanduser("~"): "home",
             socket.gethostname(): "host"}
    return sorted(((a, b) for a, b in names.items() if len(a) > 3), key=lambda item: -len(item[0]))


def scrub(text):
    for name, stand_in in machine_names():
        text = text.replace(name, stand_in)
    text = re.sub(r'"(host_name|username|user_name)": "[^"]*"', r'"\1": "nobody"', text)
    text = re.sub(r'"trace_id": "[^"]*"', '"trace_id": "%s"' % ("0123456789ABCDEF" * 2), text)
    text = re.sub(r'"traceName": "[^"]*"', '"traceName": "log/cpu.pt.trace.json"', text)
    return re.sub(r"\b%d\b" % os.getpid(), str(PUBLIC_PROCESS_ID), text)


def left_over(text):
    """What still names the machine: known names, or any absolute path in a string."""
    found = [name for name, _ in machine_names() if name in text]
    found += re.findall(r'"(?:/[\w.+-]+){2,}[^"]*"', text)
    if getpass.getuser() != "root":
        found += re.findall(r"\b%s\b" % re.escape(getpass.getuser()), text)
    return found


def squeezed(text):
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0, compresslevel=9) as stream:
        stream.write(text.encode())
    return buffer.getvalue()


def record(work, target):
    with tempfile.TemporaryDirectory() as folder:
        raw = os.path.join(folder, "trace.json")
        work(raw)
        with open(raw, encoding="utf-8") as stream:
            text = scrub(stream.read())
    found = left_over(text)
    if found:
        sys.exit("%s: still names this machine: %s" % (target, found[:5]))
    events = len(json.loads(text)["traceEvents"])
    with open(target, "wb") as stream:
        stream.write(squeezed(text))
    print("%s: %d events, %d bytes" % (target, events, os.path.getsize(target)))


def main():
    default = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fixtures", "recorded")
    parser = argparse.ArgumentParser(description="Record the real traces of fixtures/recorded")
    parser.add_argument("--out", default=default)
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    torch.set_num_threads(1)          # other work on the machine would show as long waits for a second thread
    record(record_training, os.path.join(options.out, "training_step_cpu.json.gz"))
    record(record_inference, os.path.join(options.out, "inference_cpu_stacks.json.gz"))


if __name__ == "__main__":
    main()
