package cli

import (
	"strings"

	"durward/client"
)

// nearest is the item that was probably meant: one that ends in the name, or one
// that differs in few letters; "" if there is none.
func nearest(items []client.Item, name string) string {
	best, least := "", max(2, len(name)/4)+1
	for i := range items {
		if items[i].Native == name || strings.HasSuffix(items[i].Name, "__"+name) {
			return items[i].Name
		}
		if d := distance(items[i].Name, name, least); d < least {
			best, least = items[i].Name, d
		}
	}
	return best
}

// distance is how many letters have to be changed, put in or taken out; at least
// limit when there are more.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j+1]+1, row[j]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
