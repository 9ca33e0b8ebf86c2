# SPDX-License-Identifier: MIT
"""Rows of a made run as PyTorch's profiler wrote them in three years:

    2022   absolute whole microseconds; kernels of collectives without details; correlation repeated as External id
    2024   times from a base; details of collectives, copied to their kernels; group names and members
    2026   the same with Seq, Rank and Comms Id
"""
import json
import zlib

ERAS = (2022, 2024, 2026)
BASE_NS = 224 * 7_889_238 * 10**9       # the writer's base time is a multiple of a quarter of a year
START_NS = 2_718_281_828_459_000        # when the run begins, from the base
LIST_LIMIT = 30                         # longer lists of members are cut by the profiler
DEVICE = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 84942979072, "computeMajor": 9, "computeMinor": 0,
          "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048, "regsPerBlock": 65536, "warpSize": 32,
          "sharedMemPerBlock": 49152, "numSms": 132, "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448,
          "sharedMemPerMultiprocessor": 233472}
KERNEL_OF = {"allreduce": {2022: "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
                           2024: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)",
                           2026: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"},
             "other": {2022: "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)",
                       2024: "ncclDevKernel_SendRecv(ncclDevComm*, unsigned long, ncclWork*)",
                       2026: "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"}}
KERNEL_OF.update((name, {2022: "ncclKernel_%s_RING_LL_Sum_float(ncclWorkElem)" % kernel,
                         2024: "ncclDevKernel_%s_RING_LL(ncclDevComm*, unsigned long, ncclWork*)" % kernel,
                         2026: "ncclDevKernel_%s_RING_LL(ncclDevKernelArgsStorage<4096ul>)" % kernel})
                 for name, kernel in (("_allgather_base", "AllGather"), ("_reduce_scatter_base", "ReduceScatter_Sum_bf16"),
                                      ("broadcast", "Broadcast"), ("reduce", "Reduce_Sum_bf16")))
CALL_OF = {"allreduce": ("c10d::allreduce_", "nccl:all_reduce"), "all_to_allv": ("c10d::alltoall_base_", "nccl:all_to_all"),
           "_allgather_base": ("c10d::_allgather_base_", "nccl:_all_gather_base"),
           "_reduce_scatter_base": ("c10d::_reduce_scatter_base_", "nccl:_reduce_scatter_base"),
           "broadcast": ("c10d::broadcast_", "nccl:broadcast"), "reduce": ("c10d::reduce_", "nccl:reduce"),
           "send": ("c10d::send", "nccl:send %d->%d"), "recv": ("c10d::recv_", "nccl:recv %d<-%d")}
COMPUTE_STREAM = 7
CATEGORY = {"annotation": "user_annotation", "step": "user_annotation", "op": "cpu_op", "runtime": "cuda_runtime",
            "frame": "python_function"}


def cut_list(numbers):
    """As the profiler writes a list into a text."""
    shown = ", ".join(map(str, numbers[:LIST_LIMIT]))
    return "[%s%s]" % (shown, ", ..." if len(numbers) > LIST_LIMIT else "")


class RankRows:
    """Collects the text of one rank's trace. Rows of steps outside @recorded are left out."""

    def __init__(self, layout, rank, shape, clock, recorded, names="global"):
        self.layout, self.rank, self.shape, self.clock, self.recorded = layout, rank, shape, clock, recorded
        self.era = shape.era
        self.rows, self.templates, self.on = [], {}, False
        self.pid, self.tid = 41000 + rank % layout.per_host, 41000 + rank % layout.per_host
        self.backward_tid = self.tid + 88
        self.external = self.correlation = self.frames = 0
        self.seqs, self.transfers = {}, {}
        mine = layout.groups_of(rank)
        self.group_names = {group.number: group.number if names == "global" else at for at, group in enumerate(mine)}
        self.streams = {}
        self.number = "%d" if self.era == 2022 else "%.3f"

    def step_begins(self, step):
        self.on = step in self.recorded

    # -------------------------------------------------------------- numbers

    def at(self, ns):
        """An instant on the clock of the rank's host, in the unit of the file."""
        offset_ns, drift_ppm = self.clock
        ns = ns + START_NS + offset_ns + int(ns * drift_ppm / 1e6)
        return (ns + BASE_NS) // 1000 if self.era == 2022 else ns / 1000.0

    def us(self, ns):
        """A duration by that clock."""
        return ns * (1.0 + self.clock[1] / 1e6) / 1000.0

    def ids(self):
        self.external += 1
        return self.external

    def template(self, key, make):
        """Texts with holes for times and ids, made once for each kind of row."""
        found = self.templates.get(key)
        if found is None:
            found = self.templates[key] = make().replace("@T", self.number)
        return found

    def head(self, category, name, tid, pid=None):
        name = json.dumps(name).replace("%", "%%")
        return ('  {\n    "ph": "X", "cat": "%s", "name": %s, "pid": %d, "tid": %d,\n    "ts": @T, "dur": @T'
                % (category, name, self.pid if pid is None else pid, tid))

    # -------------------------------------------------------------- rows

    def span(self, kind, name, began_ns, ended_ns, backward):
        if not self.on:
            return
        tid = self.backward_tid if backward and kind != "frame" else self.tid
        head = self.head(CATEGORY[kind], name, tid)
        if kind == "frame":
            self.frames += 1
            args = '"Python parent id": null, "Python id": %d, "Ev Idx": %d' % (self.frames, self.frames)
        elif kind == "runtime":
            self.correlation += 1
            args = '"External id": %d, "cbid": 131, "correlation": %d' % (
                self.correlation if self.era == 2022 else self.external, self.correlation)
        else:
            args = '"External id": %d, "Ev Idx": %d' % (self.ids(), self.external)
        text = (head + ',\n    "args": {\n      %s\n    }\n  }' % args).replace("@T", self.number)
        self.rows.append(text % (self.at(began_ns), self.us(ended_ns - began_ns)))

    def op_template(self, op, tokens, backward, count):
        dims = json.dumps([[size or tokens for size in part] for part in op.dims])
        types = json.dumps(["c10::BFloat16"] * len(op.dims))
        shapes = '"External id": %%d,"Input Dims": %s, "Input type": %s, "Ev Idx": %%d' % (dims, types)
        args = ',\n    "args": {\n      %s\n    }\n  }'
        tid = self.backward_tid if backward else self.tid
        node = ""
        if backward:
            for name in ("autograd::engine::evaluate_function: " + op.node, op.node):
                node += self.head("cpu_op", name, tid) + args % ('"External id": %d,"Sequence number": %d, '
                                                                '"Fwd thread id": 1, "Ev Idx": %d') + ",\n"
        call = self.head("cuda_runtime", "cudaLaunchKernel", tid) + args % (
            '"External id": %d,"cbid": 211, "correlation": %d') + ",\n"
        flow = ('  {\n    "ph": "%s", "id": %%d, "pid": %d, "tid": %d, "ts": @T,\n    "cat": "ac2g", "name": "ac2g"%s\n  }')
        begin, end = flow % ("s", self.pid, tid, ""), flow % ("f", 0, COMPUTE_STREAM, ', "bp": "e"')
        blocks = max(1, tokens * 32 // 128)
        kernel = self.head("kernel", op.kernel, COMPUTE_STREAM, 0) + args % (
            '"External id": %%d,"queued": 0, "device": 0, "context": 1, "stream": %d, "correlation": %%d,\n'
            '      "registers per thread": 168, "shared memory": 65536, "blocks per SM": %.6g, "warps per SM": %.6g,\n'
            '      "grid": [%d, 1, 1], "block": [256, 1, 1], "est. achieved occupancy %%%%": 31'
            % (COMPUTE_STREAM, blocks / 132, blocks * 8 / 132, blocks)) + ",\n"
        one = call + begin + ",\n" + kernel + end
        return node + self.head("cpu_op", op.name, tid) + args % shapes + ",\n" + ",\n".join([one] * count)

    def op(self, op, tokens, backward, began_ns, ended_ns, kernels):
        if not self.on:
            return
        text = self.template((op, tokens, backward, len(kernels)),
                             lambda: self.op_template(op, tokens, backward, len(kernels)))
        at, values = self.at, []
        ts, dur = at(began_ns), self.us(ended_ns - began_ns)
        if backward:
            ids = self.ids()
            values += [at(began_ns - 900), dur + 1.5, ids, ids, ids, at(began_ns - 500), dur + 0.8, self.ids(), ids, ids]
        ids = self.ids()
        values += [ts, dur, ids, ids]
        for launch_ns, launched_ns, start_ns, kernel_ns in kernels:
            self.correlation += 1
            number = self.correlation
            link = number if self.era == 2022 else ids
            launch, start = at(launch_ns), at(start_ns)
            values += [launch, self.us(launched_ns - launch_ns), link, number, number, launch,
                       start, self.us(kernel_ns), link, number, number, start]
        self.rows.append(text % tuple(values))

    def simple_rows(self, rows):
        """@rows: (category, name, tid, pid or None, began, ended, args as text)."""
        for category, name, tid, pid, began_ns, ended_ns, args in rows:
            text = (self.head(category, name, tid, pid)).replace("@T", self.number)
            self.rows.append(text % (self.at(began_ns), self.us(ended_ns - began_ns))
                             + ',\n    "args": {\n      %s\n    }\n  }' % args)

    def copy(self, kind, size, began_ns, ended_ns, start_ns, dur_ns):
        if not self.on:
            return
        op, self.correlation = self.ids(), self.correlation + 1
        link = self.correlation if self.era == 2022 else op
        self.simple_rows([
            ("cpu_op", "aten::copy_", self.tid, None, began_ns - 1500, ended_ns + 600,
             '"External id": %d,"Input Dims": [[%d], [%d], []], "Input type": ["long int", "long int", "Scalar"]'
             % (op, size // 8, size // 8)),
            ("cuda_runtime", "cudaMemcpyAsync", self.tid, None, began_ns, ended_ns,
             '"External id": %d,"cbid": 41, "correlation": %d' % (link, self.correlation)),
            ("gpu_memcpy", "Memcpy " + kind, COMPUTE_STREAM, 0, start_ns, start_ns + dur_ns,
             '"External id": %d,"device": 0, "context": 1, "stream": %d, "correlation": %d, "bytes": %d, '
             '"memory bandwidth (GB/s)": %.3f' % (link, COMPUTE_STREAM, self.correlation, size, size / max(1, dur_ns)))])

    def details(self, group, name, sent, received, peers):
        """What both record_param_comms and the kernel say of a collective."""
        uneven = name == "all_to_allv"
        count = len(group.members)
        splits = ["[]", "[]"]
        if uneven:
            splits = [cut_list([total // count] * count) for total in (sent, received)]
        text = ('"Collective name": "%s", "In msg nelems": %d, "Out msg nelems": %d, "Group size": %d, "dtype": "BFloat16", '
                '"In split size": "%s", "Out split size": "%s", "Process Group Name": "%s", '
                '"Process Group Description": "%s", "Process Group Ranks": "%s"'
                % (name, sent, received, count, splits[0], splits[1], self.group_names[group.number], group.desc,
                   cut_list(group.members)))
        if peers:
            text += ', "%s Rank": %d' % (("Dst", peers[1]) if name == "send" else ("Src", peers[0]))
        if self.era >= 2026:
            counts, key = (self.transfers if peers else self.seqs), group.number
            seq = counts[key]
            text += ', "Seq": %d, "Comms Id": %d' % (seq, zlib.crc32(b"%d/%d/%d" % (key, seq, bool(peers))) << 29)
        return text

    def stream(self, group, peers):
        """Each group has its stream, and each direction between two ranks."""
        return self.streams.setdefault(peers or group.number, 16 + 4 * len(self.streams))

    def collective(self, group, name, sent, received, began_ns, launch_ns, launched_ns, ended_ns, times, backward,
                   dropped=False, peers=None):
        counts = self.transfers if peers else self.seqs
        counts[group.number] = counts.get(group.number, 100) + 1
        if not self.on:
            return
        tid = self.backward_tid if backward else self.tid
        call, annotation = CALL_OF[name]
        if peers:
            mine, other = (peers if name == "send" else peers[::-1])
            annotation = annotation % (group.members.index(mine), group.members.index(other))
        ids = [self.ids(), self.ids(), self.ids()]
        self.correlation += 1
        link = self.correlation if self.era == 2022 else ids[1]
        said = self.details(group, name, sent, received, peers) if self.era > 2022 else ""
        comma = ", " if said else ""
        host = '"External id": %d,"Record function id": 0, "Ev Idx": %d' % (ids[1], ids[1])
        if self.era > 2022:
            host += ', "Global rank start": %d, "Global rank stride": %d' % (group.members[0],
                                                                             group.members[1] - group.members[0])
        if self.era >= 2026 and not peers:
            host += ', "Rank": %d' % group.members.index(self.rank)
        shape = '"Input Dims": [[[%d]]], "Input type": ["TensorList"], ' % sent
        stream = self.stream(group, peers)
        rows = [("cpu_op", call, tid, None, began_ns, ended_ns, shape + '"External id": %d' % ids[0]),
                ("cpu_op", "record_param_comms", tid, None, began_ns + 1200, ended_ns - 500, host + comma + said),
                ("user_annotation", annotation, tid, None, began_ns + 2100, ended_ns - 900, '"External id": %d' % ids[2]),
                ("cuda_runtime", "cudaLaunchKernelExC", tid, None, launch_ns, launched_ns,
                 '"External id": %d,"cbid": 430, "correlation": %d' % (link, self.correlation))]
        if not dropped:
            kernel = KERNEL_OF[name if name in KERNEL_OF else "other"][self.era]
            rows.append(("kernel", kernel, stream, 0, times[0], times[1],
                         '"External id": %d,"queued": 0, "device": 0, "context": 1, "stream": %d, "correlation": %d, '
                         '"registers per thread": 96, "shared memory": 0, "grid": [24, 1, 1], "block": [512, 1, 1]%s'
                         % (link, stream, self.correlation, comma + said)))
        self.simple_rows(rows)

    # -------------------------------------------------------------- the document

    def distributed(self):
        info = {"backend": "nccl", "rank": self.rank, "world_size": self.layout.world}
        if self.era > 2022:
            mine = self.layout.groups_of(self.rank)
            info["pg_count"] = len(mine) if self.era == 2024 else len(self.layout.groups)
            info["pg_config"] = [{"pg_name": str(self.group_names[group.number]), "pg_desc": group.desc,
                                  "backend_config": "cuda:nccl", "pg_size": len(group.members),
                                  "ranks": list(group.members)} for group in mine]
            info["nccl_version"] = "2.17.1" if self.era == 2024 else "2.27.5"
        return info

    def metadata(self):
        names = [(self.pid, self.tid, "process_name", "python3"),
                 (self.pid, self.tid, "thread_name", "thread %d (python3)" % self.tid),
                 (self.pid, self.backward_tid, "thread_name", "thread %d (pt_autograd_0)" % self.backward_tid),
                 (0, 0, "process_name", "python3"), (0, COMPUTE_STREAM, "thread_name", "stream %d " % COMPUTE_STREAM)]
        names += [(0, stream, "thread_name", "stream %d " % stream) for stream in sorted(self.streams.values())]
        rows = ['  {\n    "name": "%s", "ph": "M", "ts": 0.000, "pid": %d, "tid": %d,\n    "args": {\n      "name": "%s"\n'
                '    }\n  }' % (kind, pid, tid, name) for pid, tid, kind, name in names]
        for pid, label in ((self.pid, "CPU"), (0, "GPU 0")):
            rows.append('  {\n    "name": "process_labels", "ph": "M", "ts": 0.000, "pid": %d, "tid": 0,\n    "args": {\n'
                        '      "labels": "%s"\n    }\n  }' % (pid, label))
        return rows

    def document(self, host):
        """The whole file; @host: the name that it gives, or None."""
        head = {"schemaVersion": 1, "deviceProperties": [dict(DEVICE, id=0)], "distributedInfo": self.distributed(),
                "record_shapes": 1, "with_stack": 1}
        if self.era > 2022:
            head["cupti_version"], head["cuda_runtime_version"], head["cuda_driver_version"] = 22, 12040, 12040
            head["trace_id"] = "%032X" % (zlib.crc32(b"%d" % self.rank) + 1)
            if host:
                head["host_name"] = host
            head["displayTimeUnit"], head["baseTimeNanoseconds"] = "ms", BASE_NS
        lines = ["{"] + ["  %s: %s," % (json.dumps(key), json.dumps(value)) for key, value in head.items()]
        return "%s\n  \"traceEvents\": [\n%s\n  ],\n  \"traceName\": \"log/rank%d.pt.trace.json\"\n}\n" % (
            "\n".join(lines), ",\n".join(self.metadata() + self.rows), self.rank)
