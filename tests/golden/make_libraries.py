"""Asks MXNet for the outputs of the networks of GluonCV's zoo; needs ``gluoncv`` beside it.

oracle/bin/python tests/golden/make_libraries.py [NAME ...]

Without names those of the zoo that have no answer yet; detectors by regions take longest, and come
last.
"""

import json
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
warnings.simplefilter("ignore")

ANSWERS = Path(__file__).parent / "data" / "libraries.json"


def answer(name):
    import mxnet as mx

    from tests.libraries import zoo

    for shape in zoo.shapes_of(name):
        try:
            mx.name.NameManager._current.value = mx.name.NameManager()
            net = zoo.build(name)
            net.initialize()
            outputs = zoo.infer(mx, net, shape)
            return {"shape": shape, "outputs": [zoo.digest(name, x) for x in outputs]}
        except Exception as error:
            failure = f"{type(error).__name__}: {str(error).strip()[-200:]}"
    return {"error": failure}


def main():
    from gluoncv.model_zoo import get_model_list

    answers = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    for name in sys.argv[1:] or sorted(get_model_list(), key=lambda name: "rcnn" in name):
        if sys.argv[1:] or name not in answers:
            answers[name] = answer(name)
            print(name, str(answers[name])[:150], flush=True)
            if "error" in answers[name]:
                del answers[name]
                continue
            rows = [f"{json.dumps(k)}:{json.dumps(answers[k])}" for k in sorted(answers)]
            ANSWERS.write_text("{" + ",\n".join(rows) + "}\n")


main()
