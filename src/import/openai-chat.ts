/**
 * @module Converts a chat transcript in the OpenAI format to the commands of one run. Pure: the same transcript gives the same commands, so that a second
 * import finds the events of the first.
 */
import { z } from 'zod'
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import type { ClaimCall, CompleteRun, FailRun, PostEnvelope, StartRun } from '../../schemas/requests.ts'
import { NAME_MAX_CHARS, RUN_ID_PATTERN } from '../../schemas/value-forms.ts'
import { jsonDigest } from '../signing/digests.ts'
import { runIdFromKey } from '../signing/request-mark.ts'
import { parseStrictText } from '../signing/strict-json.ts'

/** The outcome of a call: its result, or unknown if the transcript holds none. */
export type ImportedOutcome = { readonly result: Json } | { readonly unknown: { readonly reason: string } }

export type ImportStep =
  | { readonly kind: 'envelope'; readonly key: string; readonly body: PostEnvelope }
  | { readonly kind: 'claim'; readonly key: string; readonly body: ClaimCall }
  | { readonly kind: 'settle'; readonly key: string; readonly outcome: ImportedOutcome }

export interface ImportedRun {
  readonly runId: string
  readonly start: StartRun
  /** In the order of the transcript; a settlement refers to its claim by key. */
  readonly steps: readonly ImportStep[]
  readonly end:
    | { readonly kind: 'complete'; readonly body: CompleteRun }
    | { readonly kind: 'fail'; readonly body: FailRun }
  readonly calls: number
}

export type Transcript =
  | { readonly ok: true; readonly run: ImportedRun }
  | { readonly ok: false; readonly message: string }

const FORMAT = 'openai-chat'
const TAGS_MAX = 64
const TAG = 'imported'
const DEFAULT_NAME = 'openai chat'
const DEFAULT_AGENT = 'assistant'

const Text = z.string().min(1).max(NAME_MAX_CHARS)
const ToolCall = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: Text, arguments: z.string() }),
})
const Message = z.looseObject({
  role: z.string(),
  content: z.unknown().optional(),
  tool_calls: z.array(ToolCall).nullish(),
  tool_call_id: z.string().optional(),
})
type Message = z.infer<typeof Message>
const Line = z.looseObject({ messages: z.array(Message).min(1) })

/** `tenant` and `actor` become part of the derived id of a run without a valid one. */
export function openaiChatRun(line: Json, scope: { readonly tenant: string; readonly actor: string }): Transcript {
  const parsed = Line.safeParse(line)
  if (!parsed.success || !isJsonObject(line)) {
    const issue = parsed.error?.issues[0]
    return {
      ok: false,
      message: `no transcript: /${issue?.path.join('/') ?? ''}: ${issue?.message ?? 'not an object'}`,
    }
  }
  const { messages } = parsed.data
  const calls = stepsOf(messages, nameOf(line.model) ?? DEFAULT_AGENT)
  if ('fault' in calls) return { ok: false, message: calls.fault }

  const start = startOf(line, messages)
  const runId = runIdOf(line, scope)
  const count = calls.steps.filter((step) => step.kind === 'claim').length
  const end = endOf(messages, calls.unanswered)
  return { ok: true, run: { runId, start: { id: runId, ...start }, steps: calls.steps, end, calls: count } }
}

function runIdOf(
  { id, messages }: JsonObject,
  { tenant, actor }: { readonly tenant: string; readonly actor: string },
): string {
  if (typeof id === 'string' && RUN_ID_PATTERN.test(id)) return id
  return runIdFromKey(tenant, actor, `${FORMAT}:${typeof id === 'string' ? id : jsonDigest(messages ?? null)}`)
}

/** Messages to the agent become the run's input, its own messages envelopes, and its tool calls calls, so that nothing is lost. */
function startOf(line: JsonObject, messages: readonly Message[]): Omit<StartRun, 'id'> {
  const { messages: raw = [], model, tags, name, ...others } = line
  const dialogue = messages.flatMap(({ role, content }, message) =>
    role === 'tool' || role === 'assistant' || content === null || content === undefined
      ? []
      : [{ message, role, content: content as Json }],
  )
  return {
    name: nameOf(name) ?? nameOf(model) ?? DEFAULT_NAME,
    input: {
      format: FORMAT,
      ...(model !== undefined && { model }),
      dialogue,
      ...(Object.keys(others).length > 0 && { members: others }),
      transcriptDigest: jsonDigest(raw),
    },
    tags: [TAG, ...tagsOf(tags)],
  }
}

function nameOf(value: Json | undefined): string | undefined {
  const name = Text.safeParse(value)
  return name.success ? name.data : undefined
}

function tagsOf(value: Json | undefined): readonly string[] {
  const tags = z
    .array(Text)
    .max(TAGS_MAX - 1)
    .safeParse(value)
  return tags.success ? tags.data : []
}

type Steps =
  | { readonly steps: ImportStep[]; readonly unanswered: readonly PendingToolCall[] }
  | { readonly fault: string }

interface PendingToolCall {
  readonly key: string
  readonly id: string
  readonly tool: string
}

/** Ids repeat in real transcripts: a result belongs to the most recent unanswered call with its id. */
function stepsOf(messages: readonly Message[], agent: string): Steps {
  const steps: ImportStep[] = []
  const open: PendingToolCall[] = []
  for (const [at, message] of messages.entries()) {
    const content = decodeRecord(message)
    if (content !== undefined)
      steps.push({ kind: 'envelope', key: `m${at}`, body: { agent, payload: { message: content } } })
    for (const [index, call] of (message.tool_calls ?? []).entries()) {
      const request = { key: `m${at}.c${index}`, id: call.id, tool: call.function.name }
      open.push(request)
      steps.push({ kind: 'claim', key: request.key, body: claimOf(request, call.function.arguments) })
    }
    if (message.role !== 'tool') continue
    const answered = open.findLastIndex((call) => call.id === message.tool_call_id)
    const [call] = answered < 0 ? [] : open.splice(answered, 1)
    if (call === undefined)
      return { fault: `message ${at} answers no call: tool_call_id ${message.tool_call_id ?? 'is missing'}` }
    steps.push({ kind: 'settle', key: call.key, outcome: { result: jsonOrText(message.content) } })
  }
  const unknown = { reason: 'the transcript holds no result of this call' }
  for (const { key } of open) steps.push({ kind: 'settle', key, outcome: { unknown } })
  return { steps, unanswered: open }
}

/** The agent's message in the dialogue: its text, or its parts unchanged. */
function decodeRecord({ role, content }: Message): Json | undefined {
  return role !== 'assistant' || content === null || content === undefined || content === ''
    ? undefined
    : (content as Json)
}

function claimOf({ key, tool }: PendingToolCall, args: string): ClaimCall {
  return { tool, args: jsonOrText(args), key }
}

/** Text that is valid JSON by the ledger's rules becomes that value; other text remains a string. */
function jsonOrText(content: unknown): Json {
  if (typeof content !== 'string') return (content ?? null) as Json
  const parsed = parseStrictText(content)
  return parsed.ok ? parsed.value : content
}

/** A run with a call of unknown outcome cannot be considered complete: it fails, and its record lists the call. */
function endOf(messages: readonly Message[], unanswered: readonly PendingToolCall[]): ImportedRun['end'] {
  if (unanswered.length > 0) {
    const tools = unanswered.map(({ tool, key }) => `${tool} (${key})`).join(', ')
    const message = `the transcript ends without the results of ${tools}`
    return {
      kind: 'fail',
      body: { error: { code: 'incomplete-transcript', message: message.slice(0, MESSAGE_MAX_CHARS) } },
    }
  }
  const last = messages.findLast(
    ({ role, content }) => role === 'assistant' && typeof content === 'string' && content !== '',
  )
  return { kind: 'complete', body: last === undefined ? {} : { output: String(last.content) } }
}

const MESSAGE_MAX_CHARS = 1_024
