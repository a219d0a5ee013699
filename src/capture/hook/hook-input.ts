/**
 * @module Parses the input of a coding agent's hook into calls. Pure. Two hosts are supported: Claude Code (hooks reference of 2026, with event names such as
 * `PreToolUse`) and Cursor (1.7 and later, with names such as `preToolUse`).
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
  /** The host's identity of the call; undefined if it gives none. */
  readonly id: string | undefined
  /** Links the two hooks of a call if there is no `id`. */
  readonly turn: string
}

interface From {
  readonly host: HookHost
  readonly event: string
  /** The host's own id of the session. */
  readonly session: string
}

export type HookInput =
  | (From & { readonly kind: 'before'; readonly call: HookCall })
  | (From & { readonly kind: 'after'; readonly call: HookCall; readonly outcome: Outcome })
  | (From & { readonly kind: 'start' | 'end' })
  /** An event that is not recorded. */
  | { readonly kind: 'other'; readonly event: string }
  /** `asked`: set if the host waits for a decision on a call. */
  | { readonly kind: 'fault'; readonly asked: Pick<From, 'host' | 'event'> | undefined; readonly message: string }
  /** The event cannot be identified, so no answer is possible. */
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

/** Never throws, for any input. */
export function readHookInput(bytes: Buffer): HookInput {
  const strict = parseStrictJson(bytes, { maxBytes: bytes.byteLength, maxDepth: DEPTH_MAX, maxKeys: KEYS_MAX })
  const value = strict.ok ? strict.value : looseValue(bytes)
  if (!isJsonObject(value)) return { kind: 'unreadable', message: 'the input of the hook is not a JSON object' }
  if (!strict.ok && strict.error.code === 'json-duplicate-key' && strict.error.pointer === '/hook_event_name')
    return { kind: 'unreadable', message: 'the input of the hook names two events in hook_event_name' }
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

/** Parses leniently, like the host's own parser, an input that the strict parser refuses: enough to identify the event. */
function looseValue(bytes: Buffer): Json | undefined {
  try {
    return parseJsonOrUndefined(bytes.toString('utf8'))
  } catch {
    // The value is nested too deeply for the call stack.
    return undefined
  }
}

/** For an answer that cannot be recorded exactly: the digest of the whole input. */
function onlyDigest(bytes: Buffer): Json {
  return { digest: bytesDigest(bytes), bytes: bytes.byteLength, mediaType: 'application/json', kept: false }
}

function sessionOf({ session_id: session, conversation_id: conversation }: JsonObject): string | undefined {
  // Cursor names the conversation in every event, but the session only in some.
  return [conversation, session].find((each): each is string => typeof each === 'string' && each !== '')
}

/** Returns a text with the reason if the input describes no call. */
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

/** Cursor encodes some values as JSON within a string. */
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

/** A call that was interrupted or timed out may have been executed, so its outcome is unknown rather than failed. */
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
