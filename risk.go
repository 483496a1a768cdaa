package durward

import "fmt"

// Risk is how much harm a tool can do. Higher is worse.
type Risk uint8

// The risks. RiskUnset means that nobody said; it is treated as RiskHigh.
const (
	RiskUnset Risk = iota
	RiskLow
	RiskMedium
	RiskHigh
	RiskCritical
)

var riskNames = [...]string{"", "low", "medium", "high", "critical"}

// String returns "low", "medium", "high", "critical", or "" for RiskUnset.
func (r Risk) String() string {
	if int(r) < len(riskNames) {
		return riskNames[r]
	}
	return riskNames[RiskCritical]
}

// ParseRisk reads one of the four names; "" gives RiskUnset.
func ParseRisk(s string) (Risk, error) {
	for i, name := range riskNames {
		if s == name {
			return Risk(i), nil
		}
	}
	return RiskUnset, Errorf(Invalid, "risk", "%s is not one of low, medium, high, critical", fmt.Sprintf("%q", s))
}
