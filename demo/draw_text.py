#!/usr/bin/python3
"""Draw text.png, the picture that `./dev demo ocr` reads. Needs Pillow 10.1 or later."""
import pathlib

from PIL import Image, ImageDraw, ImageFont

picture = Image.new("RGB", (640, 400), (244, 238, 226))
draw = ImageDraw.Draw(picture)
draw.rectangle((0, 0, 640, 84), fill=(120, 40, 30))
for x, y, size, colour, text in ((28, 16, 44, "white", "Corner Bakery"), (28, 112, 30, (40, 40, 40), "2 loaves of rye bread"),
                                 (470, 112, 30, (40, 40, 40), "7.60"), (28, 164, 30, (40, 40, 40), "6 cinnamon rolls"),
                                 (470, 164, 30, (40, 40, 40), "11.40"), (28, 216, 30, (40, 40, 40), "1 apple pie"),
                                 (470, 216, 30, (40, 40, 40), "14.00"), (28, 284, 36, (120, 40, 30), "Total"),
                                 (470, 284, 36, (120, 40, 30), "33.00"), (28, 350, 22, (110, 110, 110), "Thank you, see you tomorrow!")):
    draw.text((x, y), text, fill=colour, font=ImageFont.load_default(size))
picture.quantize(64).save(pathlib.Path(__file__).resolve().parent / "text.png", optimize=True)
