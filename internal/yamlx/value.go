package yamlx

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Text is a string that may also be written as a number, a truth value or a
// date without quotes; it holds what stands in the file, character for
// character (8080, 1.10, 0o17, true). Null is refused.
type Text string

// Size is a number of bytes, written as a whole number with or without a unit:
// 1024, 64KiB, 32MiB, 1GiB, 2TiB. The units may be shortened to K, M, G and T.
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
	return []sizeUnit{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}
}

// ParseSize reads a size; ok is false for everything else, too large numbers included.
func ParseSize(text string) (size Size, ok bool) {
	factor := Size(1)
	for _, unit := range sizeUnits() {
		number, found := strings.CutSuffix(text, unit.name)
		if !found {
			number, found = strings.CutSuffix(text, unit.name[:1])
		}
		if found {
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

const day = 24 * time.Hour

// ParseDuration reads a duration as [time.ParseDuration] does, and days of 24
// hours before the other units: 90d, 1d12h. ok is false for everything else, too
// long ones included.
func ParseDuration(text string) (d time.Duration, ok bool) {
	number, rest, found := strings.Cut(text, "d")
	if !found {
		d, err := time.ParseDuration(text)
		return d, err == nil
	}
	days, ok := parseInt(number)
	if !ok || days < 0 || days > math.MaxInt64/int64(day) {
		return 0, false
	}
	d = time.Duration(days) * day
	if rest == "" {
		return d, true
	}
	more, err := time.ParseDuration(rest)
	if err != nil || more < 0 || strings.HasPrefix(rest, "+") || more > math.MaxInt64-d {
		return 0, false
	}
	return d + more, true
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
