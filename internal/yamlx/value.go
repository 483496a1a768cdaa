package yamlx

import (
	"math"
	"strconv"
	"strings"
)

// Text is a string that may also be written as a number, a truth value or a
// date without quotes; it holds what stands in the file, character for
// character (8080, 1.10, 0o17, true). Null is refused.
type Text string

// Size is a number of bytes, written as a whole number with or without a unit:
// 1024, 64KiB, 32MiB, 1GiB.
type Size int64

// String renders the size in its largest whole unit, as it could be written.
func (s Size) String() string {
	for _, unit := range sizeUnits() {
		if s != 0 && s%unit.factor == 0 {
			return strconv.FormatInt(int64(s/unit.factor), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

type sizeUnit struct {
	name   string
	factor Size
}

func sizeUnits() []sizeUnit {
	return []sizeUnit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}
}

// parseSize reads a size; ok is false for everything else, too large numbers included.
func parseSize(text string) (size Size, ok bool) {
	factor := Size(1)
	for _, unit := range sizeUnits() {
		if number, found := strings.CutSuffix(text, unit.name); found {
			text, factor = strings.TrimSpace(number), unit.factor
			break
		}
	}
	n, ok := parseInt(text)
	if !ok || n < 0 || n > math.MaxInt64/int64(factor) {
		return 0, false
	}
	return Size(n) * factor, true
}

// parseInt reads a decimal integer without leading zeros, which versions of
// YAML read differently, and without underscores.
func parseInt(text string) (int64, bool) {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}
