// Package approval is the desk at which people answer what rules ask. A call that
// a rule asks about is parked here until somebody answers, its time runs out, its
// client leaves, or the service ends; everything but an answer means no. Each step
// is written down: the question before the call is parked, the answer before the
// call goes on.
//
// An answer is for this call only, unless the rule lets it reach further and the
// person says so. Then it is a [Grant], and bound to what was asked: principal,
// rules, server, the definition of the tool, and the arguments in their canonical
// form (spec: policy, Approvals).
//
// The desk knows nothing of who may answer: that is the business of the service
// API, which takes the approver credential for it.
package approval
