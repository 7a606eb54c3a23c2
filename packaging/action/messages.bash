# Sourced by the steps of `action.yml`: what they say to GitHub.

# Annotates the run with what is wrong and what to do, and ends the step. On standard error, which a caller that takes
# the output does not swallow.
fail() {
  local text=$1
  text=${text//'%'/%25}
  text=${text//$'\r'/%0D}
  text=${text//$'\n'/%0A}
  printf '::error title=mcp-protector::%s\n' "$text" >&2
  exit 1
}

# Gives a later step one value.
output() {
  case $2 in
    *$'\n'*) fail "the output \`$1\` has more than one line" ;;
  esac
  printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"
}

# The directory for files of this job, with `/` also on Windows.
job_directory() {
  printf '%s' "${RUNNER_TEMP//\\//}"
}
