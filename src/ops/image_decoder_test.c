#include "tests/op_case.h"

/* "P6 1 2 1 " and two pixels: red, then green and blue. */
#define PPM "uint8[15] x {80, 54, 32, 49, 32, 50, 32, 49, 32, 1, 0, 0, 0, 1, 1}"

OP_CASE(colours, "y = ImageDecoder(x)", IN(PPM), OUT("uint8[2,1,3] y {255, 0, 0, 0, 255, 255}"))
OP_CASE(colours_from_blue_on, "y = ImageDecoder <pixel_format = \"BGR\"> (x)", IN(PPM),
        OUT("uint8[2,1,3] y {0, 0, 255, 255, 255, 0}"))
OP_CASE(grey_of_colours, "y = ImageDecoder <pixel_format = \"Grayscale\"> (x)", IN(PPM),
        OUT("uint8[2,1,1] y {76, 179}"))
OP_CASE(colours_of_grey, "y = ImageDecoder(x)", IN("uint8[12] x {80, 53, 10, 49, 10, 49, 10, 50, 53, 53, 10, 7}"),
        OUT("uint8[1,1,3] y {7, 7, 7}"))
/* As the standard has it: no pixels, and no error. */
OP_CASE(no_picture, "y = ImageDecoder(x)", IN("uint8[3] x {1, 2, 3}"), OUT("uint8[0,0,3] y {}"))
OP_CASE(no_bytes, "y = ImageDecoder(x)", IN("uint8[0] x {}"), OUT("uint8[0,0,3] y {}"))
OP_FAILS(format_of_pixels, "y = ImageDecoder <pixel_format = \"HSV\"> (x)", SDX_INVALID_MODEL,
         "pixel_format is none of", IN(PPM))
OP_FAILS(file_of_two_dimensions, "y = ImageDecoder(x)", SDX_INVALID_MODEL, "has rank 2", IN("uint8[1,1] x {1}"))

SUITE(image_decoder_test)
{
    RUN(colours);
    RUN(colours_from_blue_on);
    RUN(grey_of_colours);
    RUN(colours_of_grey);
    RUN(no_picture);
    RUN(no_bytes);
    RUN(format_of_pixels);
    RUN(file_of_two_dimensions);
}
