/** @module Comparison of the server's state of each run with a local fold of the stream up to the same event. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isJsonObject, type Json, parseJson } from '../../schemas/json.ts'
import { pointerStep } from '../../schemas/json-pointer.ts'
import type { ReadAllOptions, RecordPages } from '../store/event-store.ts'
import type { ProjectionServer } from '../store/projection-server.ts'
import type { OwnProjection } from './server-projections.ts'

/** Read access to the ledger. */
export interface DiffSource {
  head(stream: string): Promise<number>
  readAll(options: ReadAllOptions): RecordPages
  readStream(stream: string, options: { readonly to: number }): RecordPages
}

export interface DiffOptions {
  readonly source: DiffSource
  readonly server: ProjectionServer
  readonly projections: readonly OwnProjection[]
  /** Only runs of this tenant. */
  readonly tenant?: string | undefined
  /** How long to wait, in milliseconds, for a server that lags and makes no progress. */
  readonly waitMs: number
}

export interface Compared {
  readonly stream: string
  readonly projection: string
  /** Revision of the last event that the server has folded; -1 for none. */
  readonly revision: number
  readonly found:
    | { readonly kind: 'same' }
    | ({ readonly kind: 'differs' } & JsonDifference)
    /** The stream continues up to `head`, and the server did not catch up in time. */
    | { readonly kind: 'behind'; readonly head: number }
    /** Both sides report that this stream cannot be folded on the server, and why. */
    | { readonly kind: 'not-folded'; readonly reason: string }
}

const RUN_PREFIX = 'run-'
const ASK_AGAIN_MS = 100

/** One result per run and projection, in the order of the runs' first events. */
export async function* compareProjections(options: DiffOptions): AsyncGenerator<Compared, void> {
  const patience = { leftMs: options.waitMs, fullMs: options.waitMs, handled: new Map<string, bigint>() }
  const seen = new Set<string>()
  for await (const page of options.source.readAll({ tenant: options.tenant })) {
    for (const { stream } of page) {
      if (!stream.startsWith(RUN_PREFIX) || seen.has(stream)) continue
      seen.add(stream)
      for (const projection of options.projections) yield await compare(options, { stream, projection, patience })
    }
  }
}

interface ComparedStream {
  readonly stream: string
  readonly projection: OwnProjection
  readonly patience: Patience
}

async function compare(
  { source, server }: DiffOptions,
  { stream, projection, patience }: ComparedStream,
): Promise<Compared> {
  const { name } = projection
  const head = await source.head(stream)
  const theirs = await caughtUp(server, { name, stream, head, patience })
  const revision = revisionOf(theirs) ?? head
  const reported = { stream, projection: name, revision }
  if (revision < head) return { ...reported, found: { kind: 'behind', head } }

  const ours = await projection.fold(source.readStream(stream, { to: revision }))
  const difference = firstDifference(ours, theirs)
  if (difference !== undefined) {
    const asEngine = await projection.fold(source.readStream(stream, { to: revision }), parseAsEngine)
    const isEngines = firstDifference(asEngine, theirs) === undefined
    return { ...reported, found: isEngines ? ENGINE_UNREADABLE : { kind: 'differs', ...difference } }
  }
  const reason = isJsonObject(ours) ? ours.stopped : null
  return { ...reported, found: typeof reason === 'string' ? { kind: 'not-folded', reason } : { kind: 'same' } }
}

/** Another fold on the server would not fix this. */
const ENGINE_UNREADABLE: Compared['found'] = {
  kind: 'not-folded',
  reason:
    'the server’s engine does not read a control character in a name, nor U+2028 or U+2029 as earlier versions sent them',
}

/** Waiting time that is spent while the server makes no progress and restored when it does, so that a stopped server is not waited for at each run. */
interface Patience {
  leftMs: number
  readonly fullMs: number
  /** Number of events that each projection was last seen to have handled, over all streams. */
  readonly handled: Map<string, bigint>
}

interface Awaited {
  readonly name: string
  readonly stream: string
  readonly head: number
  readonly patience: Patience
}

async function caughtUp(server: ProjectionServer, { name, stream, head, patience }: Awaited): Promise<Json> {
  for (;;) {
    const state = await server.stateOf(name, stream)
    const revision = revisionOf(state)
    if (revision === undefined || revision >= head) return state
    const handled = (await server.find([name]))[0]?.events ?? 0n
    if (handled !== patience.handled.get(name)) patience.leftMs = patience.fullMs
    if (patience.leftMs <= 0) return state
    patience.handled.set(name, handled)
    patience.leftMs -= ASK_AGAIN_MS
    await sleep(ASK_AGAIN_MS)
  }
}

/** -1 if the server has no state of the run yet; undefined for a state that none of this project's scripts made. */
function revisionOf(state: Json): number | undefined {
  if (!isJsonObject(state)) return undefined
  if (Object.keys(state).length === 0) return -1
  return typeof state.revision === 'number' ? state.revision : undefined
}

// JSON as parsed by the projection engine of EventStoreDB (according to the source of the interpreter that 23.10 uses): it rejects a Unicode line
// separator in a string, and a control character in a name.

const LINE_SEPARATOR = /[\u2028\u2029]/
/** Control characters that the engine rejects in a name; it accepts a tab. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000a-\u001f]/

/** Throws `SyntaxError` for text that the engine does not accept, as for invalid JSON. */
function parseAsEngine(text: string): Json {
  if (LINE_SEPARATOR.test(text)) throw new SyntaxError('a line separator of Unicode in a string')
  const value = parseJson(text)
  requireNames(value)
  return value
}

function requireNames(value: Json): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    if (CONTROL.test(name)) throw new SyntaxError('a control character in a name')
    requireNames(member)
  }
}

// The first difference between two JSON values; the order of keys is irrelevant.

interface JsonDifference {
  /** JSON Pointer (RFC 6901). */
  readonly path: string
  /** Undefined if there is no value at the path. */
  readonly ours: Json | undefined
  readonly theirs: Json | undefined
}

/** Undefined if the values are equal. Members are compared in the order of their sorted keys. */
function firstDifference(ours: Json | undefined, theirs: Json | undefined, path = ''): JsonDifference | undefined {
  if (ours === theirs) return undefined
  const [a, b] = [membersOf(ours), membersOf(theirs)]
  if (a === undefined || b === undefined || Array.isArray(ours) !== Array.isArray(theirs)) return { path, ours, theirs }
  for (const key of [...new Set([...a.keys(), ...b.keys()])].sort()) {
    const found = firstDifference(a.get(key), b.get(key), path + pointerStep(key))
    if (found !== undefined) return found
  }
  return undefined
}

function membersOf(value: Json | undefined): ReadonlyMap<string, Json> | undefined {
  if (Array.isArray(value)) return new Map(value.map((member: Json, index) => [String(index), member]))
  return isJsonObject(value) ? new Map(Object.entries(value)) : undefined
}
