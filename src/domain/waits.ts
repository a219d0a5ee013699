/** @module Waits of a run for a signal, a point in time, or whichever comes first; each signal ends one wait (RUN-66 to RUN-69). */
import { type RunState, safeKey } from '../../projections/run-state.ts'
import type { HeldSignal, WaitState } from '../../projections/wait-state.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { NAME_MAX_CHARS, SIGNAL_MAX_BYTES } from '../../schemas/value-forms.ts'
import { type SendSignal, SIGNALS_HELD_MAX, type StartWait, WAITS_OPEN_MAX } from '../../schemas/waiting.ts'
import {
  append,
  type Decision,
  type Draft,
  type Env,
  mustBeOpen,
  mustNotCompensate,
  mustOwn,
  nowMsOf,
  type Refused,
  refuse,
  refuseOnRecord,
  timeAfter,
} from './decision.ts'
import { CHECK_STEPS_MAX, compileSchema } from './json-schema/compile-schema.ts'
import type { SchemaFault } from './json-schema/evaluation.ts'
import { type Refusal, refusal } from './refusal.ts'

/** Returns an event of the run that was read for this decision. */
type EventAt = (revision: number) => Read | undefined
type Read = { readonly type: string; readonly data: object } | undefined

/** Maximum number of signals or waits that one command checks; the next command checks the rest. */
const LOOKED_AT_MAX = 16
const FAULTS_MAX = 20

/** Starts a wait, or answers with its state; a repeat at the same place finds the same wait. The first command after its deadline ends it. */
export function decideWait(state: RunState, body: StartWait & { readonly eventAt: EventAt }, env: Env): Decision {
  const key = waitKey(body, env.digestOf)
  const known = state.waits[safeKey(state.waitKeys[safeKey(key)] ?? '')]
  const takenOver = state.status === 'open' ? mustOwn(state, body.runFence) : undefined
  if (takenOver !== undefined) return refuse(takenOver)
  if (known !== undefined && known.status !== 'waiting') return { kind: 'as-is' }
  const closed = mustBeOpen(state) ?? mustNotCompensate(state, body.scope)
  if (closed !== undefined) return refuse(closed)
  if (known !== undefined) {
    // The schema is needed only if a held signal has to be checked against it.
    const schema = heldSignalsFor(state, known.name).length === 0 ? undefined : schemaOf(known, body.eventAt)
    if (schema === 'unread') return { kind: 'needs-events', revisions: [known.revision] }
    return ended(state, { ...body, wait: known, schema, drafts: [] }, env)
  }
  const fault = startFault(state, body)
  if (fault !== undefined) return refuse(fault)
  const started = startedBody(state, { key, ...body }, env)
  const drafts: Draft[] = [{ type: 'WaitStarted', data: started }]
  return ended(state, { wait: started, drafts, ...body }, env)
}

/** The key of a wait identifies its place in the code; other members of the request are not part of it. */
export function waitKey(
  { name, scope, occurrence = 0 }: Pick<StartWait, 'name' | 'scope' | 'occurrence'>,
  digestOf: (value: Json) => string,
): string {
  const place = { ...(scope === undefined ? {} : { scope }), occurrence }
  return digestOf(name === undefined ? { sleep: true, ...place } : { signal: name, ...place })
}

function startFault(state: RunState, { schema }: StartWait): Refusal | undefined {
  if (Object.keys(state.openWaits).length >= WAITS_OPEN_MAX) {
    const message = `a run has at most ${WAITS_OPEN_MAX} open waits: end some of them first`
    return refusal('waits-full', message, { evidence: { limit: WAITS_OPEN_MAX } })
  }
  const compiled = schema === undefined ? undefined : compileSchema(schema)
  return compiled?.ok === false ? refusal('schema-invalid', compiled.message, { pointer: '/schema' }) : undefined
}

function startedBody(
  state: RunState,
  { key, name, until, forMs, schema, scope, occurrence, parentCall }: StartWait & { readonly key: string },
  env: Env,
): EventBody<'WaitStarted'> {
  const end = until === undefined ? undefined : new Date(until).toISOString()
  return {
    ...{ v: 1, waitId: env.newId(), key },
    ...(name === undefined ? {} : { name }),
    ...(end === undefined ? {} : { until: end }),
    ...(forMs === undefined ? {} : { until: timeAfter(forMs, state, env) }),
    ...(schema === undefined ? {} : { schema }),
    ...(scope === undefined ? {} : { scope }),
    ...(occurrence === undefined ? {} : { occurrence }),
    ...(parentCall === undefined ? {} : { parentCall }),
  }
}

/** A wait, as its event or the state holds it. */
interface Place {
  readonly waitId: string
  readonly name?: string | undefined
  readonly until?: string | undefined
}

interface Waiting {
  readonly wait: Place
  readonly schema?: JsonObject | undefined
  readonly drafts: readonly Draft[]
  readonly eventAt: EventAt
}

/** Ends the wait with the oldest held signal that fits, or by timeout; otherwise the wait stays open. */
function ended(state: RunState, { wait, schema, drafts, eventAt }: Waiting, env: Env): Decision {
  const { waitId, name } = wait
  const held = heldSignalsFor(state, name)
  const look = schema === undefined ? held.slice(0, 1) : held.slice(0, LOOKED_AT_MAX)
  const unread = schema === undefined ? [] : look.filter(({ revision }) => eventAt(revision) === undefined)
  if (unread.length > 0) return { kind: 'needs-events', revisions: unread.map(({ revision }) => revision) }
  const passed: Draft[] = []
  let steps = 0
  for (const { signalId, name: ofSignal, revision } of look) {
    const checked = schema === undefined ? FITS : checkPayload(schema, payloadIn(eventAt(revision)))
    if (checked.faults.length === 0) {
      const end: Draft = { type: 'WaitEnded', data: { v: 1, waitId, outcome: 'signalled', signalId } }
      return append(...drafts, ...passed, end)
    }
    passed.push({ type: 'SignalPassedOver', data: { v: 1, signalId, name: ofSignal, waitId, faults: checked.faults } })
    steps += checked.steps
    if (steps >= CHECK_STEPS_MAX) break
  }
  const remaining = held.length - passed.length
  const over = remaining === 0 && isOver(wait, state, env) ? [timeOut(wait)] : []
  const all = [...drafts, ...passed, ...over]
  return all.length === 0 ? { kind: 'as-is' } : append(...all)
}

function heldSignalsFor(state: RunState, name: string | undefined): readonly HeldSignal[] {
  return name === undefined ? [] : Object.values(state.heldSignals).filter((each) => each.name === name)
}

/** Whether the deadline has passed, by the later of the writer's clock and the stream's own time. */
export function isOver({ until }: Pick<Place, 'until'>, state: RunState, env: Pick<Env, 'nowMs'>): boolean {
  return until !== undefined && nowMsOf(state, env) >= Date.parse(until)
}

function timeOut({ waitId, name }: Place): Draft {
  return { type: 'WaitEnded', data: { v: 1, waitId, outcome: name === undefined ? 'elapsed' : 'timed-out' } }
}

interface SignalOf {
  readonly name: string
  readonly body: SendSignal
  readonly eventAt: EventAt
}

/** Ends the oldest open wait whose schema the signal fits. If no wait is open, the signal is held or refused, as the run's policy says. */
export function decideSignal(state: RunState, { name, body, eventAt }: SignalOf, env: Env): Decision {
  const closed = mustBeOpen(state) ?? mustNotCompensate(state)
  if (closed !== undefined) return refuse(closed)
  if (!isName(name)) return refuse(badName())
  const { payload = null } = body
  const bytes = env.sizeOf(payload)
  if (bytes > SIGNAL_MAX_BYTES) return refuse(tooLarge(bytes))
  const open = openWaits(state).filter((wait) => wait.name === name)
  const over = open.filter((wait) => isOver(wait, state, env))
  // Held signals are served first: while any is held, the waits that have not checked it must not take a newer signal.
  const waits =
    heldSignalsFor(state, name).length > 0 ? [] : open.filter((wait) => !over.includes(wait)).slice(0, LOOKED_AT_MAX)
  const unread = waits.filter((wait) => schemaOf(wait, eventAt) === 'unread')
  if (unread.length > 0) return { kind: 'needs-events', revisions: unread.map(({ revision }) => revision) }
  const payloadDigest = env.digestOf(payload)
  const received = { v: 1 as const, signalId: env.newId(), name, payload, payloadDigest }
  const before = over.map(timeOut)
  const match = matchingWait(waits, payload, eventAt)
  if (match !== undefined && 'waitId' in match) {
    return append(...before, { type: 'SignalReceived', data: { ...received, waitId: match.waitId } })
  }
  const fault = match ?? (state.policy.signals === 'refuse' ? notAwaited(state, name) : full(state))
  if (fault !== undefined) {
    const refused = refuseOnRecord(state, env, {
      refusal: fault,
      fingerprint: { signal: name, payload: payloadDigest },
    })
    return { ...refused, ...(before.length === 0 ? {} : { before }) } satisfies Refused
  }
  return append(...before, { type: 'SignalReceived', data: received })
}

/** The wait that takes the signal; a refusal if waits are open but the signal fits none of them; undefined if no wait is open. */
function matchingWait(
  waits: readonly WaitState[],
  payload: Json,
  eventAt: EventAt,
): Pick<WaitState, 'waitId'> | Refusal | undefined {
  let fault: Refusal | undefined
  let steps = 0
  for (const wait of waits) {
    const schema = schemaOf(wait, eventAt)
    if (schema === undefined || schema === 'unread') return wait
    const checked = checkPayload(schema, payload)
    if (checked.faults.length === 0) return wait
    fault ??= misfit(wait, checked.faults)
    steps += checked.steps
    if (steps >= CHECK_STEPS_MAX) break
  }
  return fault
}

export function openWaits(state: RunState): readonly WaitState[] {
  return Object.keys(state.openWaits).flatMap((key) => state.waits[key] ?? [])
}

function schemaOf({ hasSchema, revision }: Pick<WaitState, 'hasSchema' | 'revision'>, eventAt: EventAt) {
  if (hasSchema !== true) return undefined
  const data = eventAt(revision)?.data as { readonly schema?: JsonObject } | undefined
  return data === undefined ? ('unread' as const) : (data.schema ?? {})
}

interface Checked {
  readonly faults: { path: string; message: string }[]
  readonly steps: number
}

const FITS: Checked = { faults: [], steps: 0 }

/** A payload that cannot be checked within the step limit does not fit. */
function checkPayload(schema: JsonObject, payload: Json): Checked {
  const compiled = compileSchema(schema)
  if (!compiled.ok) return { faults: [{ path: '', message: compiled.message }], steps: 0 }
  const checked = compiled.check(payload)
  if (checked.kind === 'too-expensive') {
    const message = 'checking the payload against the schema takes more work than one signal may'
    return { faults: [{ path: '', message }], steps: CHECK_STEPS_MAX }
  }
  return { faults: checked.faults.slice(0, FAULTS_MAX).map(shownFault), steps: checked.steps }
}

const shownFault = ({ path, message }: SchemaFault): Checked['faults'][number] => ({ path, message })

function payloadIn(event: Read): Json {
  return (event?.data as { readonly payload?: Json } | undefined)?.payload ?? null
}

function isName(name: string): boolean {
  return name !== '' && name.length <= NAME_MAX_CHARS && !/\p{Surrogate}/u.test(name)
}

function badName(): Refusal {
  const message = `the name of a signal is 1 to ${NAME_MAX_CHARS} characters of well-formed text`
  return refusal('signal-invalid', message, { pointer: '/name' })
}

function tooLarge(actual: number): Refusal {
  const message = `a signal has at most ${SIGNAL_MAX_BYTES} bytes of payload, not ${actual}: hand over where it is kept`
  return refusal('value-too-large', message, { pointer: '/payload', evidence: { limit: SIGNAL_MAX_BYTES, actual } })
}

function misfit({ waitId }: WaitState, faults: Checked['faults']): Refusal {
  return refusal('signal-invalid', 'the payload does not fit the schema of the wait for it; the wait goes on', {
    pointer: '/payload',
    evidence: { waitId, faults },
  })
}

function notAwaited(state: RunState, name: string): Refusal {
  const awaited = [...new Set(openWaits(state).flatMap((wait) => wait.name ?? []))].slice(0, FAULTS_MAX)
  const message = `the run does not wait for the signal ${name}, and its policy holds none for later`
  return refusal('signal-not-awaited', message, { evidence: { awaited } })
}

function full(state: RunState): Refusal | undefined {
  if (Object.keys(state.heldSignals).length < SIGNALS_HELD_MAX) return undefined
  const message = `the run holds ${SIGNALS_HELD_MAX} signals that no wait has taken, as many as it may`
  return refusal('signals-full', message, { evidence: { limit: SIGNALS_HELD_MAX } })
}
