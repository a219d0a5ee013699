/**
 * @module What a coding agent tells its hooks, as the calls that it is about. Pure. Two hosts are spoken: Claude Code (hooks reference of 2026, which names its
 * events `PreToolUse`) and Cursor (1.7 and later, which names them `preToolUse`).
 */
import type { Buffer } from 'node:buffer'
import { isJsonObject, type Json, type JsonObject, parseJsonOrUndefined } from '../../../schemas/json.ts'
import { bytesDigest, jsonDigest } from '../../signing/digests.ts'
import { parseStrictJson } from '../../signing/strict-json.ts'
import type { Outcome } from '../ticket.ts'

export type HookHost = 'claude-code' | 'cursor'

export interface HookCall {
  readonly tool: string
  readonly args: Json
  /** The identity that the host gives the call; undefined where it gives none. */
  readonly id: string | undefined
  /** Where there is no `id`: what the two hooks of a call have in common. */
  readonly turn: string
}

interface From {
  readonly host: HookHost
  readonly event: string
  /** The host's own name of the session. */
  readonly session: string
}

export type HookInput =
  | (From & { readonly kind: 'before'; readonly call: HookCall })
  | (From & { readonly kind: 'after'; readonly call: HookCall; readonly outcome: Outcome })
  | (From & { readonly kind: 'start' | 'end' })
  /** An event that nothing is recorded of. */
  | { readonly kind: 'other'; readonly event: string }
  /** `asked`: the host waits to be told whether a call may run. */
  | { readonly kind: 'fault'; readonly asked: Pick<From, 'host' | 'event'> | undefined; readonly message: string }
  /** What it is cannot be told, and so neither how to answer. */
  | { readonly kind: 'unreadable'; readonly message: string }

type Kind = 'before' | 'after' | 'start' | 'end'

const EVENTS: Readonly<Record<string, readonly [HookHost, Kind]>> = {
  PreToolUse: ['claude-code', 'before'],
  PostToolUse: ['claude-code', 'after'],
  PostToolUseFailure: ['claude-code', 'after'],
  SessionStart: ['claude-code', 'start'],
  SessionEnd: ['claude-code', 'end'],
  preToolUse: ['cursor', 'before'],
  postToolUse: ['cursor', 'after'],
  postToolUseFailure: ['cursor', 'after'],
  beforeShellExecution: ['cursor', 'before'],
  afterShellExecution: ['cursor', 'after'],
  beforeMCPExecution: ['cursor', 'before'],
  afterMCPExecution: ['cursor', 'after'],
  afterFileEdit: ['cursor', 'after'],
  sessionStart: ['cursor', 'start'],
  sessionEnd: ['cursor', 'end'],
}

const DEPTH_MAX = 512
const KEYS_MAX = 1_000_000
const ID_MAX_CHARS = 400
const MESSAGE_MAX_CHARS = 16_384

/** Never throws, whatever the bytes are. */
export function readHookInput(bytes: Buffer): HookInput {
  const strict = parseStrictJson(bytes, { maxBytes: bytes.byteLength, maxDepth: DEPTH_MAX, maxKeys: KEYS_MAX })
  const value = strict.ok ? strict.value : looseValue(bytes)
  if (!isJsonObject(value)) return { kind: 'unreadable', message: 'the input of the hook is not a JSON object' }
  const event = value.hook_event_name
  if (typeof event !== 'string')
    return { kind: 'unreadable', message: 'the input of the hook names no hook_event_name' }
  const [host, kind] = (Object.hasOwn(EVENTS, event) ? EVENTS[event] : undefined) ?? []
  if (host === undefined || kind === undefined) return { kind: 'other', event }
  const asked = kind === 'before' ? { host, event } : undefined
  const session = sessionOf(value)
  if (session === undefined) return { kind: 'fault', asked, message: `${event} names no session` }
  const from = { host, event, session }
  if (kind === 'start' || kind === 'end') return { kind, ...from }
  if (!strict.ok && kind === 'before') {
    const { code, message, offset } = strict.error
    return { kind: 'fault', asked, message: `it cannot be recorded exactly (${code} at byte ${offset}: ${message})` }
  }
  const call = callOf(event, value)
  if (typeof call === 'string') return { kind: 'fault', asked, message: call }
  if (kind === 'before') return { kind, ...from, call }
  if (strict.ok) return { kind, ...from, call, outcome: outcomeOf(event, value) }
  const tool = call.tool.toWellFormed()
  return { kind, ...from, call: { ...call, tool, args: onlyDigest(bytes) }, outcome: { result: onlyDigest(bytes) } }
}

/** What an exact reader refuses, as the host's own reader takes it: enough to know which event it is. */
function looseValue(bytes: Buffer): Json | undefined {
  try {
    return parseJsonOrUndefined(bytes.toString('utf8'))
  } catch {
    // Deeper than the stack.
    return undefined
  }
}

/** Of an answer that cannot be recorded exactly, the whole input as a digest. */
function onlyDigest(bytes: Buffer): Json {
  return { digest: bytesDigest(bytes), bytes: bytes.byteLength, mediaType: 'application/json', kept: false }
}

function sessionOf({ session_id: session, conversation_id: conversation }: JsonObject): string | undefined {
  // Cursor names its conversation in every event, and its session in some.
  return [conversation, session].find((each): each is string => typeof each === 'string' && each !== '')
}

/** A text says why it is none. */
function callOf(event: string, input: JsonObject): HookCall | string {
  const turn = typeof input.generation_id === 'string' ? input.generation_id : ''
  const id = typeof input.tool_use_id === 'string' && input.tool_use_id !== '' ? shortId(input.tool_use_id) : undefined
  if (event.endsWith('ShellExecution')) {
    const { command, cwd } = input
    if (typeof command !== 'string') return `${event} names no command`
    return { tool: 'Shell', args: { command, ...(typeof cwd === 'string' && { cwd }) }, id, turn }
  }
  if (event === 'afterFileEdit') {
    const { file_path: path, edits = [] } = input
    if (typeof path !== 'string') return `${event} names no file_path`
    return { tool: 'Edit', args: { file_path: path, edits }, id, turn }
  }
  const { tool_name: tool, tool_input: args = {} } = input
  if (typeof tool !== 'string' || tool === '') return `${event} names no tool_name`
  return { tool, args: parsed(args), id, turn }
}

function shortId(id: string): string {
  return id.length <= ID_MAX_CHARS && id.isWellFormed() ? id : jsonDigest(id.toWellFormed())
}

/** Cursor writes some values as JSON within a text. */
function parsed(value: Json): Json {
  if (typeof value !== 'string') return value
  const read = parseJsonOrUndefined(value)
  return isJsonObject(read) || Array.isArray(read) ? read : value
}

function outcomeOf(event: string, input: JsonObject): Outcome {
  if (event === 'PostToolUseFailure' || event === 'postToolUseFailure') return failureOf(input)
  if (event === 'afterShellExecution') return { result: input.output ?? null }
  if (event === 'afterMCPExecution') return { result: parsed(input.result_json ?? null) }
  if (event === 'afterFileEdit') return { result: null }
  return { result: input.tool_response ?? parsed(input.tool_output ?? null) }
}

/** A call that was interrupted or took too long may have done its work all the same: that is no failure, but a doubt. */
function failureOf({
  error,
  error_message: message,
  failure_type: type,
  is_interrupt: isInterrupt,
}: JsonObject): Outcome {
  const text = [error, message].find((each) => typeof each === 'string') ?? 'the host did not say why'
  if (isInterrupt === true) return { unknown: { reason: `interrupted: ${text}` } }
  if (type === 'timeout') return { unknown: { reason: `timed out: ${text}` } }
  return {
    error: {
      message: String(text).slice(0, MESSAGE_MAX_CHARS),
      code: typeof type === 'string' ? type.slice(0, 64) : 'tool-failed',
    },
  }
}
