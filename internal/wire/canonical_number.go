package wire

import (
	"bytes"
	"strconv"
)

// plainDigits is how long an integer is at most that is written without exponent.
// It changes nothing about which numbers are equal.
const plainDigits = 21

// numeral is a JSON number taken apart, of any size.
type numeral struct {
	negative        bool
	whole, fraction []byte // digits
	shrinks         bool   // the exponent is negative
	exponent        []byte // digits, without zeros in front
}

// parseNumeral takes a JSON number apart; false if raw is none.
func parseNumeral(raw []byte) (n numeral, ok bool) {
	rest, negative := bytes.CutPrefix(raw, []byte("-"))
	n.negative = negative
	n.whole, rest = digitsOf(rest)
	if len(n.whole) == 0 || n.whole[0] == '0' && len(n.whole) > 1 {
		return n, false
	}
	if after, dot := bytes.CutPrefix(rest, []byte(".")); dot {
		if n.fraction, rest = digitsOf(after); len(n.fraction) == 0 {
			return n, false
		}
	}
	if len(rest) == 0 {
		return n, true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return n, false
	}
	rest = rest[1:]
	if n.shrinks = len(rest) > 0 && rest[0] == '-'; n.shrinks || len(rest) > 0 && rest[0] == '+' {
		rest = rest[1:]
	}
	digits, rest := digitsOf(rest)
	n.exponent = bytes.TrimLeft(digits, "0")
	return n, len(digits) > 0 && len(rest) == 0
}

// appendNumber appends the canonical form of a JSON number: its digits without
// zeros at either end as an integer, and the exponent of ten that belongs to them
// unless it is zero. Integers of up to plainDigits digits are written out. The
// exponent is never expanded, nor converted: it may have any size.
func appendNumber(dst, raw []byte) []byte {
	n, ok := parseNumeral(raw)
	if !ok { // was never checked
		return append(dst, raw...)
	}
	mark := len(dst)
	if n.negative {
		dst = append(dst, '-')
	}
	first := len(dst)
	dst = append(dst, bytes.TrimLeft(n.whole, "0")...)
	if fraction := n.fraction; len(dst) > first {
		dst = append(dst, fraction...)
	} else {
		dst = append(dst, bytes.TrimLeft(fraction, "0")...)
	}
	if len(dst) == first { // nothing but zeros; the sign of zero does not count
		return append(dst[:mark], '0')
	}
	digits := bytes.TrimRight(dst[first:], "0")
	shift := int64(len(dst)-first-len(digits)) - int64(len(n.fraction))
	return n.appendExponent(dst[:first+len(digits)], len(digits), shift)
}

// appendExponent appends to so many digits the exponent plus shift.
func (n *numeral) appendExponent(dst []byte, digits int, shift int64) []byte {
	if len(n.exponent) > 17 { // so far from zero that shift, which is below 10^10, cannot change its sign
		if dst = append(dst, 'e'); n.shrinks {
			dst, shift = append(dst, '-'), -shift
		}
		return appendSum(dst, n.exponent, shift)
	}
	exponent := int64(0)
	for _, c := range n.exponent {
		exponent = exponent*10 + int64(c-'0')
	}
	if n.shrinks {
		exponent = -exponent
	}
	exponent += shift
	switch {
	case exponent == 0:
		return dst
	case exponent > 0 && int64(digits)+exponent <= plainDigits:
		for range exponent {
			dst = append(dst, '0')
		}
		return dst
	default:
		return strconv.AppendInt(append(dst, 'e'), exponent, 10)
	}
}

// appendSum appends the decimal number that digits are, plus delta, whose absolute
// value is smaller. The result has no zeros in front.
func appendSum(dst, digits []byte, delta int64) []byte {
	start := len(dst)
	dst = append(append(dst, '0'), digits...) // room for a carry
	for i := len(dst) - 1; delta != 0; i-- {
		sum := int64(dst[i]-'0') + delta
		delta = sum / 10
		if sum %= 10; sum < 0 {
			sum, delta = sum+10, delta-1
		}
		dst[i] = byte('0' + sum)
	}
	zeros := 0
	for dst[start+zeros] == '0' {
		zeros++
	}
	return append(dst[:start], dst[start+zeros:]...)
}
