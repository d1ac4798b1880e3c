"""A drawn face: what a detector of bodies may find something in."""

import numpy as np


def face():
    from PIL import Image, ImageDraw, ImageFilter

    image = Image.new("RGB", (320, 320), (120, 150, 190))
    draw = ImageDraw.Draw(image)
    skin, dark = (226, 178, 148), (60, 40, 30)
    draw.ellipse((40, 250, 280, 420), fill=(70, 80, 110))
    draw.rectangle((135, 210, 185, 280), fill=skin)
    draw.ellipse((90, 50, 230, 240), fill=skin)
    draw.pieslice((85, 35, 235, 170), 180, 360, fill=dark)
    for x in (125, 175):
        draw.ellipse((x, 125, x + 24, 140), fill="white")
        draw.ellipse((x + 7, 126, x + 18, 139), fill=dark)
        draw.line((x - 2, 115, x + 26, 112), fill=dark, width=4)
    draw.line((160, 140, 154, 175, 166, 176), fill=(190, 140, 115), width=3)
    draw.arc((130, 175, 190, 215), 15, 165, fill=(170, 70, 70), width=5)
    return np.asarray(image.filter(ImageFilter.GaussianBlur(1.5)))
