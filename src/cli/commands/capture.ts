/** @module Commands that run between an agent and its tools and record the calls. */
import type { CliCommand } from '../cli-command.ts'
import { choice, flag, PLACE, tenantFlag, tokenFlag, urlFlag } from '../flag.ts'
import { asking } from './asking.ts'

export function captureCommands(program: CliCommand): void {
  program.commandsGroup('Record what agents do:')
  program
    .command('mcp')
    .description('start an MCP server and relay the messages between it and its host; every tool call is recorded')
    .argument('<command...>', 'the server and its arguments, behind --')
    .flags(
      flag('--run <run>', 'the run to record in, which stays open (default: a new one, completed at the end)'),
      flag('--agent <name>', 'in whose name the calls are made'),
      flag('--server <name>', 'what the record calls the server (default: the name of its program)'),
      flag(
        '--effects <file>',
        'what its tools do to the world: a file, or filesystem, memory, everything (default: every tool once)',
        ['filesystem', 'memory', 'everything'],
      ),
      choice('--when-ledger-is-away <what>', 'what happens to calls that cannot be recorded (default: refuse)', [
        'refuse',
        'pass',
      ]),
      flag('--pin <digest>', 'refuse the tools if their definitions have another digest'),
      tenantFlag(),
      urlFlag('record in a running ledger instead of opening the store'),
      tokenFlag('runs:write runs:read'),
    )
    .settings(...PLACE)
    .runs(async () => (await import('../mcp.ts')).mcp)

  asking(program.command('mcp-server'), 'runs:read payloads:read audit:read')
    .description(
      'let a host read a ledger over MCP on stdio: runs, calls, approvals, budgets, queries of auditors, proofs',
    )
    .runs(async () => (await import('../mcp-server.ts')).mcpServer)

  program
    .command('hook')
    .description('record the tool calls of a coding agent: its hooks run this, with their input on standard input')
    .flags(
      flag('--run <run>', 'the run to record in, which stays open (default: one for each session of the agent)'),
      flag('--agent <name>', 'in whose name the calls are made'),
      flag(
        '--effects <file>',
        'what its tools do to the world: a file, or claude-code, cursor (default: every tool once)',
        ['claude-code', 'cursor'],
      ),
      flag('--within <seconds>', 'the time until the agent has its answer, below its own limit (default: 25)'),
      choice('--when-ledger-is-away <what>', 'what happens to calls that cannot be recorded (default: refuse)', [
        'refuse',
        'pass',
      ]),
      flag('--state <dir>', 'what one hook leaves for the next (default: countersign/hook in $XDG_STATE_HOME)'),
      tenantFlag(),
      urlFlag('record in a running ledger instead of opening the store'),
      tokenFlag('runs:write runs:read'),
    )
    .settings(...PLACE)
    .runs(async () => (await import('../hook.ts')).hook)
}
