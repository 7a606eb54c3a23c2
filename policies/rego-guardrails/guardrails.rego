# Guardrails in Rego. All files of the directory are one package, asked for its `decision`.
package mcp

decision := {"allow": true, "deny": true, "reasons": forbids} if {
	count(forbids) > 0
} else := {"allow": true, "reasons": permits, "obligations": notes} if {
	count(permits) > 0
}

# Permits

permits contains {"id": "rego.read"} if {
	input.action == "call_tool"
	input.resource.name in {"read_text_file", "list_directory"}
	is_string(input.context.arguments.path)
}

# Each item of the list has to be in the workspace: see `paths` below.
permits contains {"id": "rego.read-many"} if {
	input.action == "call_tool"
	input.resource.name == "read_multiple_files"
	is_array(input.context.arguments.paths)
}

permits contains {"id": "rego.edit"} if {
	input.action == "call_tool"
	edits
}

permits contains {"id": "rego.send"} if {
	input.action in {"call_tool", "list_tool"}
	"net" in input.resource.capabilities
}

# Lists are not computed from the rules above, as they are for Cedar: what is listed, a rule says.
permits contains {"id": "rego.list"} if {
	input.action == "list_tool"
	input.resource.name in {"read_text_file", "list_directory", "read_multiple_files"}
}

permits contains {"id": "rego.list-edit"} if {
	input.action == "list_tool"
	edits
}

permits contains {"id": "rego.short-samples"} if {
	input.action == "sample"
	input.context.maxTokens <= 200
	not input.context.tools
	input.context.includeContext == "none"
}

notes contains {"annotate": "an editor wrote"} if edits

edits if {
	input.resource.name == "write_file"
	"editor" in input.principal.roles
}

# Forbids

forbids contains {
	"id": "rego.workspace",
	"code": "outside_workspace",
	"advice": "Only files below /srv/project/ whose names have no leading dot can be used.",
} if {
	input.action == "call_tool"
	some path in paths
	not in_workspace(path)
}

forbids contains {"id": "rego.no-secrets-by-mail", "code": "confidential"} if {
	input.action in {"call_tool", "list_tool"}
	"net" in input.resource.capabilities
	input.resource.level >= 2
}

# Whatever the arguments say is a path, whether it is one or not. Unlike Cedar, Rego looks at each item of a list.
paths contains input.context.arguments.path

paths contains path if some path in input.context.arguments.paths

in_workspace(path) if {
	is_string(path)
	regex.match(`^/srv/project/([^./][^/]*/)*[^./][^/]*$`, path)
}
