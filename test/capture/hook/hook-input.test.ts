import { Buffer } from 'node:buffer'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { hookAnswer } from '../../../src/capture/hook/hook-answer.ts'
import { type HookInput, readHookInput } from '../../../src/capture/hook/hook-input.ts'
import { runIdOf } from '../../../src/capture/hook/hook-run.ts'

const hookInput = suite('capture: the input of a hook')

const read = (input: object | string): HookInput =>
  readHookInput(Buffer.from(typeof input === 'string' ? input : JSON.stringify(input)))

/** As the hosts document them. */
const CLAUDE = {
  session_id: 'abc123',
  transcript_path: '/home/me/.claude/projects/p/abc123.jsonl',
  cwd: '/home/me/p',
  permission_mode: 'default',
}
const CURSOR = {
  conversation_id: 'conv-1',
  generation_id: 'gen-1',
  model: 'm',
  cursor_version: '2.4.0',
  workspace_roots: ['/home/me/p'],
  user_email: 'me@example.com',
}
const BASH = {
  tool_name: 'Bash',
  tool_input: { command: 'npm test', description: 'Runs tests' },
  tool_use_id: 'toolu_01',
}

hookInput('calls of Claude Code are read with their id, their arguments and what came of them (CAP-35, CAP-37)', () => {
  const from = { host: 'claude-code', session: 'abc123' }
  const call = { tool: 'Bash', args: BASH.tool_input, id: 'toolu_01', turn: '' }
  assert.equal(read({ ...CLAUDE, hook_event_name: 'PreToolUse', ...BASH }), {
    ...{ kind: 'before', ...from, event: 'PreToolUse', call },
  })
  const after = { kind: 'after', ...from, event: 'PostToolUse', call, outcome: { result: { stdout: 'ok' } } }
  assert.equal(read({ ...CLAUDE, hook_event_name: 'PostToolUse', ...BASH, tool_response: { stdout: 'ok' } }), after)
  const failed = { ...CLAUDE, hook_event_name: 'PostToolUseFailure', ...BASH, error: 'exit code 1' }
  const outcomeOf = (input: object) => (read(input) as Extract<HookInput, { kind: 'after' }>).outcome
  assert.equal(outcomeOf({ ...failed, is_interrupt: false }), {
    error: { message: 'exit code 1', code: 'tool-failed' },
  })
  assert.equal(outcomeOf({ ...failed, is_interrupt: true }), { unknown: { reason: 'interrupted: exit code 1' } })
  for (const [event, kind] of Object.entries({ SessionStart: 'start', SessionEnd: 'end' }))
    assert.equal(read({ ...CLAUDE, hook_event_name: event }), { kind, ...from, event })
})

hookInput('calls of Cursor are read in its new events and in its old ones (CAP-35)', () => {
  const from = { host: 'cursor', session: 'conv-1' }
  const shell = { command: 'ls', cwd: '/home/me/p' }
  assert.equal(read({ ...CURSOR, hook_event_name: 'beforeShellExecution', ...shell }), {
    ...{ kind: 'before', ...from, event: 'beforeShellExecution' },
    call: { tool: 'Shell', args: shell, id: undefined, turn: 'gen-1' },
  })
  const mcp = {
    hook_event_name: 'afterMCPExecution',
    tool_name: 'query',
    tool_input: '{"q":1}',
    result_json: '{"rows":[]}',
  }
  assert.equal(read({ ...CURSOR, ...mcp, duration: 3 }), {
    ...{ kind: 'after', ...from, event: 'afterMCPExecution' },
    call: { tool: 'query', args: { q: 1 }, id: undefined, turn: 'gen-1' },
    outcome: { result: { rows: [] } },
  })
  const post = { hook_event_name: 'postToolUse', tool_name: 'Shell', tool_input: shell, tool_output: '{"exitCode":0}' }
  assert.equal(read({ ...CURSOR, ...post, tool_use_id: 't1' }), {
    ...{ kind: 'after', ...from, event: 'postToolUse' },
    call: { tool: 'Shell', args: shell, id: 't1', turn: 'gen-1' },
    outcome: { result: { exitCode: 0 } },
  })
  const late = { hook_event_name: 'postToolUseFailure', tool_name: 'Shell', tool_input: shell, tool_use_id: 't2' }
  const timedOut = read({ ...CURSOR, ...late, error_message: 'too slow', failure_type: 'timeout' })
  assert.equal(timedOut.kind === 'after' && timedOut.outcome, { unknown: { reason: 'timed out: too slow' } })
  assert.is(read({ ...CURSOR, hook_event_name: 'afterFileEdit', file_path: 'a', edits: [] }).kind, 'after')
})

hookInput(
  'what is no call is let be, and what cannot be recorded is a no where the host waits for one (CAP-35)',
  () => {
    assert.equal(read({ ...CLAUDE, hook_event_name: 'Stop' }), { kind: 'other', event: 'Stop' })
    assert.equal(read({ ...CLAUDE, hook_event_name: '__proto__' }), { kind: 'other', event: '__proto__' })
    const kinds = (inputs: readonly (object | string)[]) => inputs.map((input) => read(input).kind)
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
    const noObjects = ['', 'no JSON', '[]', 'null', '\0', '{"hook_event_name":', '{"hook_event_name":7}', deep]
    assert.equal(
      kinds(noObjects),
      noObjects.map(() => 'unreadable'),
    )
    const pre = { ...CLAUDE, hook_event_name: 'PreToolUse', ...BASH }
    const text = JSON.stringify(pre)
    const faults = [
      { ...pre, session_id: 7 },
      { ...pre, session_id: '' },
      { ...pre, tool_name: ['Bash'] },
      { ...pre, tool_name: '' },
      text.replace('npm test', '\\ud800'),
      text.replace('"command"', '"command":1,"command"'),
      text.replace('"npm test"', '12345678901234567890'),
      text.replace('{"command"', '{"__proto__":1,"command"'),
      text.replace('"npm test"', `${'['.repeat(600)}${']'.repeat(600)}`),
    ]
    for (const fault of faults) {
      const input = read(fault)
      assert.equal(
        input.kind === 'fault' && input.asked,
        { host: 'claude-code', event: 'PreToolUse' },
        JSON.stringify(fault).slice(0, 200),
      )
    }
    const post = text.replace('PreToolUse', 'PostToolUse').replace('npm test', '\\ud800')
    const after = read(post)
    assert.is(after.kind === 'after' && after.call.id, 'toolu_01', 'the call has an outcome all the same')
    const result = (after.kind === 'after' && after.outcome.result) as { readonly kept?: boolean }
    assert.is(result.kept, false)
    assert.is(read({ ...pre, tool_name: 'a\0b' }).kind, 'before', 'the ledger judges names')
  },
)

hookInput('a no is said in the words of the host, and a yes widens nothing that Claude Code asks (CAP-35)', () => {
  const no = { allow: false, reason: 'because "x"\n' } as const
  assert.equal(JSON.parse(hookAnswer({ host: 'claude-code', event: 'PreToolUse' }, no)), {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'deny',
      permissionDecisionReason: no.reason,
    },
  })
  assert.is(hookAnswer({ host: 'claude-code', event: 'PreToolUse' }, { allow: true }), '')
  const denied = JSON.parse(hookAnswer({ host: 'cursor', event: 'preToolUse' }, no))
  assert.is(denied.permission, 'deny')
  assert.is(denied.user_message, no.reason)
  assert.is(denied.agentMessage, no.reason)
  assert.is(hookAnswer({ host: 'cursor', event: 'preToolUse' }, { allow: true }), '{"permission":"allow"}')
})

hookInput('a session of any name has a run of its own (CAP-36)', () => {
  assert.is(runIdOf('claude-code', '5f3c-aa'), 'hook-claude-code-5f3c-aa')
  const odd = ['../../etc', 'a/b', 'a\0', '\ud800', 'x'.repeat(101), 'ü'].map((name) => runIdOf('cursor', name))
  for (const id of odd) assert.match(id, /^hook-cursor-[0-9a-f]{64}$/)
  assert.is(new Set(odd).size, odd.length)
})

hookInput('an input that names two events is a no, whichever a host would take (CAP-35)', () => {
  for (const [one, two] of [
    ['PreToolUse', 'PostToolUse'],
    ['PostToolUse', 'PreToolUse'],
  ]) {
    const text = `{"session_id":"s","hook_event_name":"${one}","tool_name":"Bash","hook_event_name":"${two}"}`
    assert.is(readHookInput(Buffer.from(text)).kind, 'unreadable')
  }
})

hookInput.run()
