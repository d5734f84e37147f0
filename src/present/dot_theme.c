/* The colours of gprof2dot's themes: a way through HSL from what costs nothing to what costs all.
 */
#include "dot.h"

#include <math.h>
#include <string.h>

struct hsl {
    double hue, saturation, light;
};

struct cairn_dot_theme {
    const char *name;
    struct hsl least, most;
    double gamma;
    double font_least, font_most, line_least, line_most;
    const char *font_colour, *box_style;
};

static const struct cairn_dot_theme themes[] = {
    {"color", {2.0 / 3.0, 0.80, 0.25}, {0, 1, 0.5}, 1, 10, 10, 0.5, 4, "white", "filled"},
    {"pink", {0, 1, 0.90}, {0, 1, 0.5}, 2.2, 10, 10, 0.5, 4, "white", "filled"},
    {"gray", {0, 0, 0.85}, {0, 0, 0}, 2.2, 10, 10, 0.5, 4, "white", "filled"},
    {"bw", {0, 0, 0}, {0, 0, 0}, 2.2, 8, 24, 0.1, 8, "white", "filled"},
    {"print", {0, 0, 0}, {0, 0, 0}, 2.2, 18, 30, 0.1, 8, "black", "solid"},
};

const struct cairn_dot_theme *cairn_dot_theme(const char *name)
{
    for (size_t i = 0; i < sizeof(themes) / sizeof(themes[0]); i++)
        if (strcmp(themes[i].name, name) == 0)
            return &themes[i];
    return NULL;
}

static double channel(double low, double high, double hue)
{
    hue += hue < 0 ? 1 : hue > 1 ? -1 : 0;
    if (hue * 6 < 1)
        return low + (high - low) * hue * 6;
    if (hue * 2 < 1)
        return high;
    if (hue * 3 < 2)
        return low + (high - low) * (2.0 / 3.0 - hue) * 6;
    return low;
}

static unsigned byte_of(double value, double gamma)
{
    value = pow(value, gamma);
    return value <= 0 ? 0 : value >= 1 ? 255 : (unsigned)(255 * value + 0.5);
}

static void put(struct cairn_buf *out, struct hsl colour, double gamma)
{
    double hue = colour.hue - floor(colour.hue);
    double high = colour.light <= 0.5
                      ? colour.light * (colour.saturation + 1)
                      : colour.light + colour.saturation - colour.light * colour.saturation;
    double low = colour.light * 2 - high;

    cairn_buf_printf(out, "\"#%02x%02x%02x\"", byte_of(channel(low, high, hue + 1.0 / 3.0), gamma),
                     byte_of(channel(low, high, hue), gamma),
                     byte_of(channel(low, high, hue - 1.0 / 3.0), gamma));
}

static double between(double least, double most, double weight, double skew)
{
    if (skew == 0 || skew == 1)
        return least + weight * (most - least);
    return least + (most - least) * (pow(skew, weight) - 1) / (skew - 1);
}

void cairn_dot_colour(struct cairn_buf *out, const struct cairn_dot_theme *theme, double weight,
                      double skew)
{
    weight = weight < 0 ? 0 : weight > 1 ? 1 : weight;
    put(out,
        (struct hsl){
            between(theme->least.hue, theme->most.hue, weight, skew),
            between(theme->least.saturation, theme->most.saturation, weight, skew),
            between(theme->least.light, theme->most.light, weight, skew),
        },
        theme->gamma);
}

void cairn_dot_text_colour(struct cairn_buf *out, const struct cairn_dot_theme *theme,
                           double weight, double skew)
{
    if (strcmp(theme->box_style, "filled") == 0)
        cairn_buf_add_str(out, "\"#ffffff\"");
    else
        cairn_dot_colour(out, theme, weight, skew);
}

double cairn_dot_font_size(const struct cairn_dot_theme *theme, double weight)
{
    return fmax(weight * weight * theme->font_most, theme->font_least);
}

double cairn_dot_line_width(const struct cairn_dot_theme *theme, double weight)
{
    return fmax(weight * theme->line_most, theme->line_least);
}

const char *cairn_dot_font_colour(const struct cairn_dot_theme *theme)
{
    return theme->font_colour;
}

const char *cairn_dot_box_style(const struct cairn_dot_theme *theme)
{
    return theme->box_style;
}
