package wire

// Era is a family of protocol revisions.
type Era uint8

// The eras. Legacy opens with initialize and has sessions; Modern is stateless.
const (
	EraUnknown Era = iota
	Legacy
	Modern
)

// String returns "legacy", "modern" or "".
func (e Era) String() string {
	switch e {
	case Legacy:
		return "legacy"
	case Modern:
		return "modern"
	default:
		return ""
	}
}

// Protocol revisions Durward speaks.
const (
	RevisionModern = "2026-07-28"
	RevisionLegacy = "2025-11-25" // the newest legacy one: what we offer first
)

// ModernRevisions and LegacyRevisions list what is spoken, newest first.
func ModernRevisions() []string { return []string{RevisionModern} }

// LegacyRevisions lists the legacy revisions, newest first.
func LegacyRevisions() []string {
	return []string{RevisionLegacy, "2025-06-18", "2025-03-26", "2024-11-05"}
}

// EraOf returns the era of a revision we speak, EraUnknown for others.
func EraOf(revision string) Era {
	switch revision {
	case RevisionModern:
		return Modern
	case "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05":
		return Legacy
	default:
		return EraUnknown
	}
}

// Methods of both eras.
const (
	MethodInitialize     = "initialize"
	MethodDiscover       = "server/discover"
	MethodPing           = "ping"
	MethodToolsList      = "tools/list"
	MethodToolsCall      = "tools/call"
	MethodPromptsList    = "prompts/list"
	MethodPromptsGet     = "prompts/get"
	MethodResourcesList  = "resources/list"
	MethodTemplatesList  = "resources/templates/list"
	MethodResourcesRead  = "resources/read"
	MethodSubscribe      = "resources/subscribe"
	MethodUnsubscribe    = "resources/unsubscribe"
	MethodComplete       = "completion/complete"
	MethodSetLevel       = "logging/setLevel"
	MethodListen         = "subscriptions/listen"
	MethodTasksGet       = "tasks/get"
	MethodTasksResult    = "tasks/result"
	MethodTasksUpdate    = "tasks/update"
	MethodTasksCancel    = "tasks/cancel"
	MethodTasksList      = "tasks/list"
	MethodSampling       = "sampling/createMessage"
	MethodElicit         = "elicitation/create"
	MethodRootsList      = "roots/list"
	NoteInitialized      = "notifications/initialized"
	NoteCancelled        = "notifications/cancelled"
	NoteProgress         = "notifications/progress"
	NoteMessage          = "notifications/message"
	NoteToolsChanged     = "notifications/tools/list_changed"
	NotePromptsChanged   = "notifications/prompts/list_changed"
	NoteResourcesChanged = "notifications/resources/list_changed"
	NoteResourceUpdated  = "notifications/resources/updated"
	NoteRootsChanged     = "notifications/roots/list_changed"
	NoteElicitComplete   = "notifications/elicitation/complete"
	NoteAcknowledged     = "notifications/subscriptions/acknowledged"
	NoteTasks            = "notifications/tasks"        // of the tasks extension
	NoteTasksStatus      = "notifications/tasks/status" // of revision 2025-11-25
)

// ExtensionTasks is the identifier of the tasks extension of the modern era.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// Protocol keys in `_meta` (2026-07-28, basic/index "_meta").
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaLogLevel           = "io.modelcontextprotocol/logLevel"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	MetaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"
	MetaProgressToken      = "progressToken"
	// MetaRelatedTask says which task something is about (2025-11-25, basic/utilities/tasks).
	MetaRelatedTask = "io.modelcontextprotocol/related-task"
)

// ProtocolKey reports whether a member of `_meta` belongs to one hop: an edge
// takes it off and the next edge puts its own.
func ProtocolKey(name string) bool {
	switch name {
	case MetaProtocolVersion, MetaClientCapabilities, MetaClientInfo, MetaLogLevel, MetaProgressToken, MetaSubscriptionID:
		return true
	default:
		return false
	}
}

// internMethod returns the constant for a known method, "" for others, so that
// a known method costs no allocation.
func internMethod(raw []byte) string { //nolint:funlen // a table
	switch string(raw) {
	case MethodToolsCall:
		return MethodToolsCall
	case MethodToolsList:
		return MethodToolsList
	case MethodInitialize:
		return MethodInitialize
	case MethodDiscover:
		return MethodDiscover
	case MethodPing:
		return MethodPing
	case MethodPromptsList:
		return MethodPromptsList
	case MethodPromptsGet:
		return MethodPromptsGet
	case MethodResourcesList:
		return MethodResourcesList
	case MethodTemplatesList:
		return MethodTemplatesList
	case MethodResourcesRead:
		return MethodResourcesRead
	case MethodComplete:
		return MethodComplete
	case MethodSetLevel:
		return MethodSetLevel
	case MethodListen:
		return MethodListen
	case MethodTasksGet:
		return MethodTasksGet
	case MethodTasksResult:
		return MethodTasksResult
	case MethodTasksUpdate:
		return MethodTasksUpdate
	case MethodTasksCancel:
		return MethodTasksCancel
	case MethodTasksList:
		return MethodTasksList
	case NoteTasks:
		return NoteTasks
	case NoteTasksStatus:
		return NoteTasksStatus
	case NoteInitialized:
		return NoteInitialized
	case NoteCancelled:
		return NoteCancelled
	case NoteProgress:
		return NoteProgress
	case NoteMessage:
		return NoteMessage
	case NoteResourceUpdated:
		return NoteResourceUpdated
	case NoteToolsChanged:
		return NoteToolsChanged
	case NotePromptsChanged:
		return NotePromptsChanged
	case NoteResourcesChanged:
		return NoteResourcesChanged
	case NoteRootsChanged:
		return NoteRootsChanged
	case NoteElicitComplete:
		return NoteElicitComplete
	case NoteAcknowledged:
		return NoteAcknowledged
	case MethodSubscribe:
		return MethodSubscribe
	case MethodUnsubscribe:
		return MethodUnsubscribe
	case MethodSampling:
		return MethodSampling
	case MethodElicit:
		return MethodElicit
	case MethodRootsList:
		return MethodRootsList
	default:
		return ""
	}
}
