package control

import "durward/client"

// approvalRoutes have people answer. That a call waits may be seen by who may look;
// what it would do, and the answer, take the approver credential, which nobody has
// who makes calls. So does the stream: whoever has it open counts as somebody who
// can answer.
func approvalRoutes() []route {
	return []route{
		{method: "GET", path: "/api/v1/approvals", id: "listApprovals", scope: Read, summary: "The calls that wait for a person's answer, oldest first.",
			answer: client.ApprovalList{}, serve: (*api).listApprovals},
		{method: "GET", path: "/api/v1/approvals/events", id: "watchApprovals", scope: Approve,
			stream:  "An event per question (pending), those that are open first, and per answer (answered), of type ApprovalEvent; its name is the type.",
			summary: "Server-sent events: questions and answers. While the stream is open, calls wait for an answer.", answer: client.ApprovalEvent{}, serve: (*api).watchApprovals},
		{method: "GET", path: "/api/v1/approvals/{id}", id: "showApproval", scope: Approve,
			summary: "A call that waits, with its arguments, whole and redacted. A prefix of the id of 4 letters is enough where only one has it. 409 when it is over.",
			answer:  client.ApprovalDetail{}, serve: (*api).showApproval},
		{method: "POST", path: "/api/v1/approvals/{id}", id: "answerApproval", scope: Approve,
			summary: "Answer a question. The first answer counts, any other is a 409. 503 if it cannot be recorded, which denies the call, or not remembered.",
			body:    client.ApprovalAnswer{}, answer: client.ApprovalRecord{}, serve: (*api).answerApproval},
		{method: "GET", path: "/api/v1/grants", id: "listGrants", scope: Read, summary: "The answers that hold again, oldest first.",
			answer: client.GrantList{}, serve: (*api).listGrants},
		{method: "DELETE", path: "/api/v1/grants/{id}", id: "revokeGrant", scope: Approve,
			summary: "Revoke a grant. Calls that it let through go on.", answer: client.Grant{}, serve: (*api).revokeGrant},
	}
}
