# Evaluates a formula as Homebrew does, without Homebrew: `ruby use.rb FORMULA OUT ASSETS`. Writes the program of each
# system, as `DIGEST  ASSET`, and installs that of this system into OUT/bin from ASSETS.
require "fileutils"

class Formula
  include FileUtils
  NAMED = %i[desc homepage version license].freeze

  class << self
    attr_reader :programs, :address

    NAMED.each { |name| define_method(name) { |value = nil| value ? instance_variable_set("@#{name}", value) : instance_variable_get("@#{name}") } }
    %w[on_macos on_linux on_intel on_arm].each do |name|
      define_method(name) do |&block|
        (@systems ||= []).push(name)
        block.call
        @systems.pop
      end
    end

    def url(value) = @address = value

    def sha256(value)
      raise "`#{address}` is not of this version" unless address.start_with?("#{homepage}/releases/download/v#{version}/")

      (@programs ||= {})[@systems.dup] = [value, File.basename(address)]
    end

    def test; end
  end

  Bin = Struct.new(:directory) do
    def install(programs) = programs.each { |from, to| FileUtils.cp(from, File.join(directory, to), preserve: true) }
  end

  def initialize(directory) = @directory = directory
  def bin = Bin.new(@directory)
end

formula, out, assets = ARGV.map { |path| File.expand_path(path) }
load formula
McpProtector.programs.each_value { |digest, asset| puts "#{digest}  #{asset}" }
cpu = RUBY_PLATFORM.start_with?("x86_64") ? "on_intel" : "on_arm"
system = RUBY_PLATFORM.include?("darwin") ? "on_macos" : "on_linux"
asset = McpProtector.programs.fetch([system, cpu]) { abort "the formula has no program for #{RUBY_PLATFORM}" }.last
FileUtils.mkdir_p(["#{out}/bin", "#{out}/stage"])
# As downloaded: not executable.
FileUtils.cp("#{assets}/#{asset}", "#{out}/stage")
FileUtils.chmod(0o644, "#{out}/stage/#{asset}")
Dir.chdir("#{out}/stage") { McpProtector.new("#{out}/bin").install }
