package plugin

import (
	"bytes"
	"unicode/utf8"
)

// national looks for the numbers by which states know people.
func (s *piiScan) national(g []group) (string, Level, int, int) {
	sign, _ := s.sameGaps(g[:min(len(g), 2)])
	switch {
	case shape(g, 3, 2, 4) && sign == '-':
		return s.judged("us-ssn", LevelHigh, g[:3], ssn)
	case shape(g, 3, 4, 4, 2) && sign == '.':
		return s.judged("ch-ahv", LevelHigh, g[:4], ahv)
	case shape(g, 13) && s.text[g[0].start] == '7':
		return s.judged("ch-ahv", LevelHigh, g[:1], ahv)
	case shape(g, 3, 3, 3, 2) && sign == '.':
		return s.judgedGaps("br-cpf", g[:4], cpf)
	case shape(g, 4, 4, 4) && sign == ' ':
		return s.judged("in-aadhaar", LevelHigh, g[:3], aadhaar)
	case shape(g, 15):
		return s.judged("fr-nir", LevelHigh, g[:1], nir)
	case shape(g, 1, 2, 2, 2, 3, 3, 2) && sign == ' ':
		return s.judged("fr-nir", LevelHigh, g[:7], nir)
	case shape(g, 18):
		return s.judged("cn-id", LevelHigh, g[:1], chinese)
	case shape(g, 17):
		return s.chineseX(g[0])
	case shape(g, 8), shape(g, 7):
		return s.spanish(g[0])
	case shape(g, 2, 2, 2):
		return s.nino(g[:3])
	}
	return "", 0, 0, 0
}

// judged is a finding if the same sign is between all groups, nothing is around
// them, and check agrees.
func (s *piiScan) judged(kind string, level Level, g []group, check func([]byte) bool) (string, Level, int, int) {
	from, to := g[0].start, g[len(g)-1].end
	if _, same := s.sameGaps(g); !same || !s.alone(from, to) || !check(s.digitsOf(g)) {
		return "", 0, 0, 0
	}
	return kind, level, from, to
}

// judgedGaps is judged for numbers whose last sign is another one: 000.000.000-00.
func (s *piiScan) judgedGaps(kind string, g []group, check func([]byte) bool) (string, Level, int, int) {
	last := len(g) - 1
	from, to := g[0].start, g[last].end
	_, same := s.sameGaps(g[:last])
	if !same || g[last].start != g[last-1].end+1 || s.text[g[last-1].end] != '-' || !s.alone(from, to) || !check(s.digitsOf(g)) {
		return "", 0, 0, 0
	}
	return kind, LevelHigh, from, to
}

// ssn leaves out what the agency never gives, and the numbers of advertisements.
func ssn(d []byte) bool {
	area, serial := string(d[:3]), string(d[5:])
	return area != "000" && area != "666" && area[0] != '9' && string(d[3:5]) != "00" && serial != "0000" && string(d) != "078051120" && string(d) != "219099999" && string(d) != "123456789"
}

// ahv has the check digit of EAN-13.
func ahv(d []byte) bool {
	sum := 0
	for i, c := range d {
		sum += int(c-'0') * (1 + i%2*2)
	}
	return string(d[:3]) == "756" && sum%10 == 0
}

func cpf(d []byte) bool {
	if bytes.Count(d, d[:1]) == len(d) {
		return false
	}
	for n := 9; n <= 10; n++ {
		sum := 0
		for i := range n {
			sum += int(d[i]-'0') * (n + 1 - i)
		}
		if int(d[n]-'0') != sum*10%11%10 {
			return false
		}
	}
	return true
}

// aadhaar has the check digit of Verhoeff.
func aadhaar(d []byte) bool {
	if d[0] < '2' {
		return false
	}
	product := [10]string{"0123456789", "1234067895", "2340178956", "3401289567", "4012395678", "5987604321", "6598710432", "7659821043", "8765932104", "9876543210"}
	permute := [8]string{"0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258"}
	c := 0
	for i := range d {
		c = int(product[c][permute[i%8][d[len(d)-1-i]-'0']-'0'] - '0')
	}
	return c == 0
}

// nir: 1 or 2, year, month, place, number, and the rest of 97.
func nir(d []byte) bool {
	month := int(d[3]-'0')*10 + int(d[4]-'0')
	if d[0] != '1' && d[0] != '2' || month < 1 || month > 12 {
		return false
	}
	rest := 0
	for _, c := range d[:13] {
		rest = (rest*10 + int(c-'0')) % 97
	}
	return 97-rest == int(d[13]-'0')*10+int(d[14]-'0')
}

// chinese is GB 11643: a place, a date, and ISO 7064 MOD 11-2.
func chinese(d []byte) bool {
	sum := 0
	weights := [17]int{7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2}
	for i, w := range weights {
		sum += int(d[i]-'0') * w
	}
	year := string(d[6:8])
	month, day := int(d[10]-'0')*10+int(d[11]-'0'), int(d[12]-'0')*10+int(d[13]-'0')
	return "10X98765432"[sum%11] == d[17] && (year == "19" || year == "20") && month >= 1 && month <= 12 && day >= 1 && day <= 31 && d[0] >= '1' && d[0] <= '8'
}

// chineseX is one whose check digit is X.
func (s *piiScan) chineseX(g group) (string, Level, int, int) {
	to := g.end + 1
	if g.end >= len(s.text) || s.text[g.end] != 'X' || !s.alone(g.start, to) || !chinese(s.text[g.start:to]) {
		return "", 0, 0, 0
	}
	return "cn-id", LevelHigh, g.start, to
}

// spanish is a DNI (eight digits) or NIE (X, Y or Z and seven), with their letter.
func (s *piiScan) spanish(g group) (string, Level, int, int) {
	from, value := g.start, 0
	if g.len() == 7 {
		if from == 0 || s.text[from-1] < 'X' || s.text[from-1] > 'Z' {
			return "", 0, 0, 0
		}
		from--
		value = int(s.text[from] - 'X')
	}
	for _, c := range s.text[g.start:g.end] {
		value = value*10 + int(c-'0')
	}
	at := g.end
	if at < len(s.text) && s.text[at] == '-' {
		at++
	}
	if at >= len(s.text) || s.text[at] != "TRWAGMYFPDXBNJZSQVHLCKE"[value%23] || !s.alone(from, at+1) {
		return "", 0, 0, 0
	}
	return "es-dni", LevelMedium, from, at + 1
}

// nino is AB 12 34 56 C.
func (s *piiScan) nino(g []group) (string, Level, int, int) {
	sign, same := s.sameGaps(g)
	from, to := g[0].start-3, g[2].end+2
	if !same || sign != ' ' || from < 0 || to > len(s.text) || s.text[g[0].start-1] != ' ' || s.text[to-2] != ' ' || !s.alone(from, to) {
		return "", 0, 0, 0
	}
	a, b, suffix := s.text[from], s.text[from+1], s.text[to-1]
	if a < 'A' || a > 'Z' || b < 'A' || b > 'Z' || bytes.IndexByte([]byte("DFIQUV"), a) >= 0 || bytes.IndexByte([]byte("DFIQUVO"), b) >= 0 || suffix < 'A' || suffix > 'D' {
		return "", 0, 0, 0
	}
	return "uk-nino", LevelMedium, from, to
}

// phone judges telephone numbers.
func (s *piiScan) phone(g []group) (string, Level, int, int) {
	first := g[0]
	if first.start > 0 && s.text[first.start-1] == '+' {
		return s.international(g)
	}
	if to := s.northAmerican(g); to > 0 {
		from := first.start
		if from > 0 && s.text[from-1] == '(' {
			from--
		}
		return "phone", LevelMedium, from, to
	}
	if to := s.called(g); to > 0 {
		return "phone", LevelMedium, first.start, to
	}
	return "", 0, 0, 0
}

// international is E.164: + and at most 15 digits, with a country code in use.
func (s *piiScan) international(g []group) (string, Level, int, int) {
	from, n, take := g[0].start-1, 0, 0
	if from > 0 && (s.t.sets[s.text[from-1]]&alnum != 0 || s.text[from-1] == '+') && !(from > 1 && s.text[from-2] == '\\') {
		return "", 0, 0, 0
	}
	for ; take < len(g) && n+g[take].len() <= 15; take++ {
		if take > 0 && s.text[g[take-1].end] == '.' && n >= 10 {
			break
		}
		n += g[take].len()
	}
	if n < 9 || take == 0 {
		return "", 0, 0, 0
	}
	to := g[take-1].end
	d := s.digitsOf(g[:take])
	if take == 1 && n < 10 || !countryCode(d) || to < len(s.text) && s.t.sets[s.text[to]]&word != 0 || counting(d) || fictitious(d) {
		return "", 0, 0, 0
	}
	return "phone", LevelMedium, from, to
}

// countryCode reports whether d begins with a code that is in use (E.164, annex A).
func countryCode(d []byte) bool {
	two, three := int(d[0]-'0')*10+int(d[1]-'0'), int(d[2]-'0')
	switch d[0] {
	case '1':
		return len(d) == 11 && d[1] >= '2' && d[4] >= '2'
	case '7':
		return len(d) == 11
	case '0':
		return false
	}
	switch two {
	case 20, 27, 30, 31, 32, 33, 34, 36, 39, 40, 41, 43, 44, 45, 46, 47, 48, 49, 51, 52, 53, 54, 55, 56, 57, 58, 60, 61, 62, 63, 64, 65, 66, 81, 82, 84, 86, 90, 91, 92, 93, 94, 95, 98:
		return true
	case 21, 22, 23, 24, 25, 26, 35, 37, 38, 50, 59, 67, 68, 96, 97:
		return true
	case 29:
		return three <= 1 || three >= 7
	case 42:
		return three <= 1 || three == 3
	case 69, 80, 85, 87, 88, 99:
		return two != 80 || three == 0
	}
	return false
}

// fictitious reports whether a North American number is one of those kept for films.
func fictitious(d []byte) bool {
	n := len(d)
	return n >= 10 && string(d[n-7:n-3]) == "5550" && d[n-3] == '1' || n >= 10 && string(d[n-10:n-4]) == "555555"
}

// northAmerican returns the end of (NXX) NXX-XXXX and NXX-NXX-XXXX, 0 if it is
// none; a 1 may be in front.
func (s *piiScan) northAmerican(g []group) int {
	begin := g[0].start
	if g[0].len() == 1 && s.text[g[0].start] == '1' && len(g) > 3 && s.alone(g[0].start, g[3].end) {
		g = g[1:]
	}
	if !shape(g, 3, 3, 4) {
		return 0
	}
	from, to := g[0].start, g[2].end
	open := from > 0 && s.text[from-1] == '('
	last := s.text[g[1].end]
	sign, same := s.sameGaps(g[:3])
	closed := open && s.text[g[0].end] == ')'
	if !closed && (!same || sign != '-' && sign != '.') || last != '-' && last != '.' && last != ' ' || g[2].start != g[1].end+1 {
		return 0
	}
	if open && begin == from {
		begin--
	}
	d := s.digitsOf(g[:3])
	if !s.alone(begin, to) || d[0] < '2' || d[3] < '2' || d[1] == '9' || fictitious(d) || counting(d) {
		return 0
	}
	return to
}

// called returns the end of a number behind a word for telephone, 0 if there is none.
func (s *piiScan) called(g []group) int {
	if !s.calls {
		return 0
	}
	i := s.behindCall(g[0].start)
	if i < 0 || shape(g, 4, 2, 2) || !isTelephone(s.text[max(0, i-24):i]) {
		return 0
	}
	n, take := 0, 0
	for ; take < len(g) && n+g[take].len() <= 15; take++ {
		n += g[take].len()
	}
	if n < 7 || take == 0 || counting(s.digitsOf(g[:take])) || fictitious(s.digitsOf(g[:take])) {
		return 0
	}
	return g[take-1].end
}

// telephoneWords are those behind which a number is one to call.
func telephoneWords() []string {
	return []string{
		"tel", "telefon", "telephone", "phone", "mobile", "mobil", "fax", "telefax", "cell", "cellphone", "handy", "whatsapp", "call",
		"telefono", "teléfono", "téléphone", "móvil", "celular", "тел", "телефон", "电话", "手机", "電話", "电话：", "手机：", "電話：", "फ़ोन", "फोन", "هاتف", "☎", "📞",
	}
}

// isTelephone reports whether text ends with such a word.
func isTelephone(text []byte) bool {
	text = bytes.ToLower(text)
	for _, w := range telephoneWords() {
		rest, ok := bytes.CutSuffix(text, []byte(w))
		if ok && (w[0] >= utf8.RuneSelf || len(rest) == 0 || rest[len(rest)-1] < utf8.RuneSelf && !letter(rest[len(rest)-1]) && rest[len(rest)-1] != '/' && rest[len(rest)-1] != '_') {
			return true
		}
	}
	return false
}

// counting reports whether a number is one that nobody has: one digit over and
// over, or the digits in order.
func counting(d []byte) bool {
	same, up := 0, 0
	for i := 1; i < len(d); i++ {
		if d[i] == d[i-1] {
			same++
		}
		if d[i] == d[i-1]+1 || d[i] == '0' && d[i-1] == '9' {
			up++
		}
	}
	return same >= len(d)-2 || up >= len(d)-2
}
