package wire

import "bytes"

// maxSafeInteger is the largest integer that every reader can hold, those that
// keep numbers as IEEE 754 doubles included (2026-07-28, streamable-http
// "Schema Extension").
const maxSafeInteger = 1<<53 - 1

// decimal is a JSON number taken apart; its value is 0.DIGITS × 10^point.
type decimal struct {
	negative bool
	digits   []byte // without zeros at either end; empty for zero
	point    int
}

// parseDecimal takes a JSON number apart; false if raw is none, or its exponent is absurd.
func parseDecimal(raw []byte) (d decimal, ok bool) {
	rest, negative := bytes.CutPrefix(raw, []byte("-"))
	d.negative = negative
	whole, rest := digitsOf(rest)
	if len(whole) == 0 || whole[0] == '0' && len(whole) > 1 {
		return d, false
	}
	var fraction []byte
	if after, yes := bytes.CutPrefix(rest, []byte(".")); yes {
		if fraction, rest = digitsOf(after); len(fraction) == 0 {
			return d, false
		}
	}
	exponent, ok := exponentOf(rest)
	if !ok {
		return d, false
	}
	d.point = len(whole) + exponent
	d.digits = append(append(make([]byte, 0, len(whole)+len(fraction)), whole...), fraction...)
	for len(d.digits) > 0 && d.digits[0] == '0' {
		d.digits, d.point = d.digits[1:], d.point-1
	}
	d.digits = bytes.TrimRight(d.digits, "0")
	return d, true
}

func digitsOf(b []byte) (digits, rest []byte) {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return b[:n], b[n:]
}

// exponentOf reads what follows the digits of a number: nothing, or an exponent.
func exponentOf(b []byte) (exponent int, ok bool) {
	if len(b) == 0 {
		return 0, true
	}
	if b[0] != 'e' && b[0] != 'E' {
		return 0, false
	}
	b = b[1:]
	negative := len(b) > 0 && b[0] == '-'
	if negative || len(b) > 0 && b[0] == '+' {
		b = b[1:]
	}
	digits, rest := digitsOf(b)
	if len(digits) == 0 || len(rest) > 0 {
		return 0, false
	}
	for _, c := range digits {
		if exponent = exponent*10 + int(c-'0'); exponent > 2*MaxScan {
			exponent = 2 * MaxScan // beyond what any number of digits can make up for
		}
	}
	if negative {
		return -exponent, true
	}
	return exponent, true
}

// safeInteger returns the value of a JSON number that is an integer, in whatever
// way it is written, and not beyond maxSafeInteger.
func safeInteger(raw []byte) (int64, bool) {
	d, ok := parseDecimal(raw)
	if !ok || len(d.digits) > d.point && len(d.digits) > 0 {
		return 0, false
	}
	if len(d.digits) == 0 {
		return 0, true
	}
	if d.point > 16 {
		return 0, false
	}
	n := int64(0)
	for i := range d.point {
		n *= 10
		if i < len(d.digits) {
			n += int64(d.digits[i] - '0')
		}
	}
	if n > maxSafeInteger {
		return 0, false
	}
	if d.negative {
		n = -n
	}
	return n, true
}

func isNumber(raw []byte) bool {
	_, ok := parseDecimal(raw)
	return ok
}
