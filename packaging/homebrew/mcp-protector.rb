class McpProtector < Formula
  desc "Policy gate in front of MCP servers"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]
@PROGRAMS@
  def install
    program = Dir["mcp-protector-*"].first
    chmod 0755, program
    bin.install program => "mcp-protector"
  end

  test do
    assert_match "mcp-protector #{version}", shell_output("#{bin}/mcp-protector --version")
  end
end
