/** @module Recorded handoffs of runs, each with the state of the run before it: the input for learning and trying policies. */
import { readFileSync } from 'node:fs'
import { applyMode } from '../../projections/merge.ts'
import type { RecordedEvent } from '../../projections/projection.ts'
import type { RunState } from '../../projections/run-state.ts'
import { isJsonObject, type JsonObject } from '../../schemas/json.ts'
import type { Observed } from '../domain/validator/declared/learn.ts'
import type { Evidence } from '../domain/validator/evidence.ts'
import { RunAggregate } from '../ledger/write/run-aggregate.ts'
import { parseStrictJson } from '../signing/strict-json.ts'
import type { Api } from './api.ts'
import { usageFailure } from './failure.ts'

type Handoff = Extract<RecordedEvent, { type: 'EnvelopeAccepted' | 'EnvelopeRejected' }>

export interface RecordedHandoff {
  readonly run: string
  readonly revision: number
  readonly isAccepted: boolean
  /** State when the handoff was judged; valid until the next handoff is requested. */
  readonly state: RunState
  readonly evidence: Evidence
  readonly envelope: Handoff['data']
  readonly before: JsonObject
  readonly after: JsonObject
}

/** Handoffs in order. If an event of the run cannot be folded, the sequence ends there, as a resume does. */
export async function* recordedHandoffs(api: Api, run: string): AsyncGenerator<RecordedHandoff, void> {
  const folded = new RunAggregate('', run)
  for await (const item of api.items(`/v1/runs/${encodeURIComponent(run)}/events`, {})) {
    const event = eventOf(item)
    const { state, evidence } = folded
    if (state !== undefined && isHandoff(event)) {
      const { data, header } = event
      const { payload, mode, add } = data
      const { context, policy } = state
      const after = applyMode({ context, payload, mode, policy, add })
      const isAccepted = event.type === 'EnvelopeAccepted'
      yield { run, revision: header.revision, isAccepted, state, evidence, envelope: data, before: context, after }
    }
    folded.fold(event)
  }
}

function eventOf({ header, data }: JsonObject): RecordedEvent {
  return { type: (header as JsonObject).type, data, header } as unknown as RecordedEvent
}

function isHandoff(event: RecordedEvent): event is Handoff {
  return event.type === 'EnvelopeAccepted' || event.type === 'EnvelopeRejected'
}

const LIMITS = { maxBytes: 16 * 1024 * 1024, maxDepth: 66, maxKeys: 16 * 1024 * 1024 }

/** Lines `{before, after}`, with `run` if they belong to several runs; those of one run must be in order. Throws `CliFailure` for an invalid line. */
export function handoffsOfFile(path: string): readonly Observed[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.flatMap((line, i) => (line.trim() === '' ? [] : [observedIn(line, `${path}, line ${i + 1}`)]))
}

function observedIn(line: string, place: string): Observed {
  const parsed = parseStrictJson(new TextEncoder().encode(line), LIMITS)
  if (!parsed.ok) throw usageFailure(`${place}: ${parsed.error.message}`)
  const { before, after, run = '', supersedes = [] } = isJsonObject(parsed.value) ? parsed.value : {}
  if (!isJsonObject(before ?? null) || !isJsonObject(after ?? null))
    throw usageFailure(`${place}: is no object with the objects before and after`)
  const superseded = Array.isArray(supersedes)
    ? supersedes.flatMap((each) => (isJsonObject(each) && typeof each.path === 'string' ? [each.path] : []))
    : []
  return { run: `${run}`, before: before as JsonObject, after: after as JsonObject, superseded }
}
