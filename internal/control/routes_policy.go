package control

import (
	"net/http"

	"durward/client"
)

// policyRoutes show and change what decides calls. To change it takes the approver
// credential, as answers do: who makes calls and could take back the rule that asks
// about them would be the one who approves them.
func policyRoutes() []route {
	return []route{
		{method: "GET", path: "/api/v1/policy/rules", id: "listRules", scope: Read, summary: "The rules in effect, of all layers.",
			answer: client.PolicyRules{}, serve: (*api).policyRules},
		{method: "GET", path: "/api/v1/policy/effective", id: "effectivePolicy", scope: Read, summary: "The merged policy, with the layer of each line.",
			query: []query{{"session", "Also: under which policy this session began."}}, answer: client.EffectivePolicy{}, serve: (*api).effectivePolicy},
		{method: "POST", path: "/api/v1/policy/explain", id: "explainPolicy", scope: Operate, or: Approve, summary: "What would be decided for an event, and what came of each rule. Nothing is called, no limit is used up.",
			body: client.ExplainRequest{}, answer: client.Explanation{}, serve: (*api).explainPolicy},
		{method: "POST", path: "/api/v1/policy/rules", id: "addRule", scope: Approve, status: http.StatusCreated,
			summary: "Add a rule to the user's configuration file. It is answered when every call is decided with it; a rule that is not sound changes nothing.",
			body:    client.NewRule{}, answer: client.PolicyEdit{}, serve: (*api).addRule},
		{method: "PUT", path: "/api/v1/policy/tools", id: "setToolAction", scope: Approve,
			summary: "Write what happens by default with tools of a server into the user's configuration file. It is answered when every call is decided with it.",
			body:    client.ToolAction{}, answer: client.PolicyEdit{}, serve: (*api).setToolAction},
	}
}
