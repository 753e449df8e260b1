"""Many images: samples in MileBench's format, 60 pictures each, collected and run against an endpoint that answers at once.

python -m benchmarks.images --samples 2000 --images 60
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

from PIL import Image

from benchmarks.endpoints import endpoint, ours
from benchmarks.timing import Side, machine, show

SUBSET = "ActionLocalization"
CHOICES = ["science art", "food history", "travel", "none of these"]


def write_samples(folder: Path, samples: int, images: int) -> None:
    """A subset whose every sample has its own pictures; all are different files."""
    pictures = folder / SUBSET / "images"
    pictures.mkdir(parents=True)
    data = []
    for sample in range(samples):
        paths = [f"{sample}_{number}.jpg" for number in range(images)]
        for number, path in enumerate(paths):
            colour = (sample % 256, number * 4 % 256, (sample // 256) * 32 % 256)
            Image.new("RGB", (64, 48), colour).save(pictures / path, "JPEG")
        context = "".join(f"{{image#{number}}}" for number in range(1, images + 1))
        data.append(
            {
                "sample_id": sample,
                "task_instruction_id": 0,
                "image_quantity_level": "Many",
                "task_instance": {
                    "context": f"{context} What is shown?", "images_path": paths, "choice_list": CHOICES,
                },
                "response": CHOICES[0],
            }
        )  # fmt: skip
    meta = {"task_instruction": ["Look and choose."], "question_type": "multi-choice", "num_sample": samples}
    (folder / SUBSET / f"{SUBSET}.json").write_text(json.dumps({"meta_data": meta, "data": data}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--images", type=int, default=60, help="of each sample (default: 60)")
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as name, endpoint(0.0) as url:
        folder = Path(name) / "milebench"
        write_samples(folder, arguments.samples, arguments.images)
        collection = ours("collection", folder, url, "--collect-only", "-k", "milebench")
        collection.before = lambda: None
        run = ours("run", folder, url, "-k", "milebench", "--tb=no", "--store=off")
        sides: list[Side] = [collection, run]
        for _ in range(arguments.repeats):
            for side in sides:
                side.run()
        show(f"{arguments.samples} samples of {arguments.images} images, an endpoint that answers at once", sides)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
