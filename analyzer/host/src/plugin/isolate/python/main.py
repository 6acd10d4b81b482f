# The process of a plugin in Python: reads its job, runs the plugin, sends what it gives, and ends.

import mmap
import os
import sys
import types

_OK, _FAILED, _BAD_INPUT, _PANICKED = 0, 1, 3, 5
_MAX_REJECTIONS = 8


def _raised(error, file):
    """What was raised, and where in the plugin."""
    said = str(error).strip()
    name = type(error).__name__
    text = f"raised {name}: {said}" if said else f"raised {name}"
    lines, trace = [], error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            lines.append((trace.tb_lineno, trace.tb_frame.f_code.co_name))
        trace = trace.tb_next
    if isinstance(error, SyntaxError):
        lines = []
    if lines:
        line, function = lines[-1]
        where = "" if function == "<module>" else f" in {function}"
        text += f" ({os.path.basename(file)}:{line}{where})"
    if isinstance(error, ModuleNotFoundError) and error.name:
        module = error.name.partition(".")[0]
        text += f" (hint: install it for {sys.executable}, or name another Python with TRUENO_PYTHON: {module})"
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        text += ": it tried to end its process"
    return text


def _analyze(job, tables, options):
    """Status, error and result of the plugin."""
    file = job["file"]
    try:
        with open(file, "rb") as source:
            code = compile(source.read(), file, "exec", dont_inherit=True)
        module = types.ModuleType("trueno_plugin_" + job["id"])
        module.__file__ = file
        sys.modules[module.__name__] = module
        exec(code, module.__dict__)
        run = getattr(module, "run", None)
        if not callable(run):
            return _FAILED, "it has no function run(tables, options)", Result()
        given = run(tables, options)
        if isinstance(given, Result):
            return _OK, None, given
        result = Result()
        if isinstance(given, dict):
            for name, columns in given.items():
                result.table(name, columns)
            return _OK, None, result
        if given is None:
            return _OK, None, result
        return _FAILED, f"run returned a {type(given).__name__}, not tables by name or a Result", result
    except BadInput as error:
        return _BAD_INPUT, str(error), Result()
    except Failed as error:
        return _FAILED, str(error), Result()
    except MemoryError:
        return _PANICKED, _out_of_memory(job), Result()
    except BaseException as error:
        return _PANICKED, _raised(error, file), Result()


def _out_of_memory(job):
    return f"raised MemoryError: it reached its memory limit of {job['memory']} (hint: --plugin-memory SIZE)"


def _send(to, data):
    view = memoryview(data)
    while view:
        view = view[os.write(to, view) :]


def _messages_of(job, status, error, result):
    """All messages, the last of them the end."""
    rejected = []
    declared = job["tables"]
    steps = [lambda t=t: message(TABLE, table_bytes(*t, declared.get(t[0], {}))) for t in result.tables]
    steps += [lambda f=f: message(FINDING, finding_bytes(f)) for f in result.findings]
    for step in steps:
        try:
            yield step()
        except NotTaken as why:
            rejected.append(str(why))
        except MemoryError:
            status, error = _PANICKED, _out_of_memory(job)
            break
        except BaseException as raised:
            # Objects of the plugin are asked for their values, and may do anything.
            status, error = _PANICKED, _raised(raised, job["file"])
            break
    charts = []
    for chart in result.charts:
        try:
            json_bytes(chart, "a chart")
            charts.append(chart)
        except NotTaken as why:
            rejected.append(str(why))
    # What is no Unicode would be no JSON.
    error = None if error is None else error.encode("utf-8", "replace").decode()
    rejected = [why.encode("utf-8", "replace").decode() for why in rejected]
    end = {"status": status, "charts": charts, "error": error, "rejected": rejected[:_MAX_REJECTIONS]}
    yield message(END, json.dumps(end).encode())


def main():
    job = json.loads(sys.argv[1])
    sys.path[:] = job["path"]
    sys.argv[:] = [job["file"]]
    memory = memoryview(mmap.mmap(job["memory_file"], 0, access=mmap.ACCESS_READ))
    os.close(job["memory_file"])
    at, length = struct.unpack_from("<QQ", memory)
    task = json.loads(bytes(memory[at : at + length]))["task"]["Run"]
    options = {**job["defaults"], **json.loads(task["options"])}
    tables = {}
    for name, place in zip(job["inputs"], task["inputs"]):
        tables[name] = Table(name, None if place is None else memory[place[0] : place[1]])
    offered = types.ModuleType("trueno_plugin")
    for item in (Result, BadInput, Failed, Table, Column):
        setattr(offered, item.__name__, item)
    sys.modules["trueno_plugin"] = offered
    status, error, result = _analyze(job, tables, options)
    for each in _messages_of(job, status, error, result):
        _send(job["answer"], each)
    # Neither what the plugin left to be done at the end nor its threads: the answer has been given.
    os._exit(0)


main()
