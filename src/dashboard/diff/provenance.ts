/**
 * @module The evidence for a value: which handoff established it, and which recorded output or input of the run contained it before. One pass over the run;
 * contexts are rebuilt as the ledger built them.
 */
import type { ExtendPolicy } from '../../../projections/extend.ts'
import { ignore } from '../../../projections/fold-table.ts'
import { applyMode } from '../../../projections/merge.ts'
import type { RunEventType } from '../../../schemas/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { parsePointer } from '../../../schemas/json-pointer.ts'
import type { LedgerEvent } from '../../ledger/ledger-event.ts'
import { identityOf } from './pair-members.ts'
import { valueText } from './value-text.ts'

export interface Established {
  readonly step: number
  readonly agent: string
  readonly revision: number
}

export interface Source {
  readonly revision: number
  /** `input`, or the tool that returned the output. */
  readonly what: string
}

export interface Provenance {
  readonly established?: Established
  readonly sources: readonly Source[]
}

/** Runs with more events are not searched: the search would take too long for a page. */
export const PROVENANCE_EVENTS_MAX = 20_000
const SOURCES_MAX = 3
/** Shorter texts match by chance. */
const TELLING_CHARS = 4

type Place = readonly string[]

interface Question {
  readonly pointer: string
  readonly place: Place
  readonly needle: string | undefined
  established?: Established
  readonly sources: Source[]
  value: string | undefined
}

/** The role of an event type for a value: where it may come from, or what established it. */
const ROLES = {
  ...ignore('ApprovalRequested', 'ApprovalGranted', 'ApprovalDenied', 'ApprovalWithdrawn', 'ApprovalExpired'),
  ...ignore('WaitStarted', 'SignalReceived', 'SignalPassedOver', 'WaitEnded'),
  ...ignore(
    'RunResumed',
    'RunLeft',
    'RunCarried',
    'RunBranched',
    'ChildRunStarted',
    'RunCompleted',
    'RunFailed',
    'RunCompensated',
    'RedactionChanged',
    'RunKeyDisclosed',
  ),
  ...ignore(
    'JudgementRecorded',
    'SuspectReviewed',
    'ManifestRegistered',
    'RequestRefused',
    'EnvelopeRejected',
    'SnapshotTaken',
    'ToolCallLeaseRenewed',
  ),
  ...ignore('ToolCallFailed', 'ToolCallInDoubt', 'ToolCallResolved', 'ResultNotRecorded', 'CompensationStarted'),
  ...ignore('ToolDefinitionsSeen', 'CaptureGap'),
  ...ignore('CompensationSucceeded', 'CompensationFailed', 'CompensationInDoubt', 'BudgetReserved'),
  ...ignore('UsageRecorded', 'BudgetReleased', 'ReservationExpired', 'BudgetExceeded', 'ForkStarted'),
  ...ignore('BranchOffered', 'BranchReceived', 'ForkJoined'),
  RunStarted: 'input',
  ToolCallClaimed: 'claim',
  ToolCallSucceeded: 'result',
  EnvelopeAccepted: 'handoff',
  RunRewound: 'rewind',
} as const satisfies Record<RunEventType, string | null>

/** For each pointer into `before`, the origin of its value. `take` expects the events before the refused one, in order. */
export class ProvenanceSearch {
  readonly #questions: readonly Question[]
  readonly #policy: ExtendPolicy
  readonly #contexts = new Map<number, JsonObject>([[0, {}]])
  readonly #tools = new Map<string, string>()
  #context: JsonObject = {}

  constructor(before: JsonObject, pointers: readonly string[], policy: ExtendPolicy) {
    this.#policy = policy
    this.#questions = [...new Set(pointers)].flatMap((pointer) => {
      const place = placeOf(before, pointer)
      if (place === undefined) return []
      return [{ pointer, place, needle: needleOf(valueAt(before, place)), sources: [], value: undefined }]
    })
  }

  take(event: LedgerEvent): void {
    const { header, data } = event
    switch (Object.hasOwn(ROLES, header.type) ? ROLES[header.type as RunEventType] : null) {
      case 'input':
        this.#source(event, 'input')
        return
      case 'claim':
        this.#tools.set(String(data.callId), String(data.tool))
        return
      case 'result':
        this.#source(event, this.#tools.get(String(data.callId)) ?? 'a call')
        return
      case 'handoff':
        this.#accepted(event)
        return
      case 'rewind':
        this.#establish(this.#contexts.get(Number(data.snapshot)) ?? (data.restored as JsonObject | undefined) ?? {})
        return
      case null:
    }
  }

  of(pointer: string): Provenance | undefined {
    const found = this.#questions.find((question) => question.pointer === pointer)
    if (found === undefined) return undefined
    return { sources: found.sources, ...(found.established && { established: found.established }) }
  }

  #source({ header, texts }: LedgerEvent, what: string): void {
    for (const { needle, sources } of this.#questions) {
      if (needle === undefined || sources.length >= SOURCES_MAX || !texts.data.includes(needle)) continue
      sources.push({ revision: header.revision, what })
    }
  }

  #accepted({ header, data }: LedgerEvent): void {
    const mode = data.mode === 'merge' || data.mode === 'extend' ? data.mode : 'replace'
    const payload = isJsonObject(data.payload) ? data.payload : {}
    const add = isJsonObject(data.add ?? null) ? (data.add as JsonObject) : undefined
    const context = applyMode({ context: this.#context, payload, mode, policy: this.#policy, add })
    this.#contexts.set(header.revision, context)
    this.#establish(context, { step: Number(data.step), agent: String(data.agent), revision: header.revision })
  }

  #establish(context: JsonObject, by?: Established): void {
    this.#context = context
    for (const question of this.#questions) {
      const value = valueAt(context, question.place)
      const text = value === undefined ? undefined : valueText(value)
      if (text === question.value) continue
      question.value = text
      if (by !== undefined && text !== undefined) question.established = by
    }
  }
}

/** The pointer with list elements replaced by their identities, so that it also applies to earlier contexts. */
function placeOf(document: JsonObject, pointer: string): Place | undefined {
  const tokens = parsePointer(pointer)
  if (tokens === undefined) return undefined
  let value: Json | undefined = document
  const place: string[] = []
  for (const token of tokens) {
    if (Array.isArray(value)) {
      const element: Json | undefined = (value as readonly Json[])[Number(token)]
      if (element === undefined) return undefined
      place.push(identityOf(element))
      value = element
    } else if (isJsonObject(value) && Object.hasOwn(value, token)) {
      place.push(token)
      value = value[token]
    } else return undefined
  }
  return place
}

function valueAt(document: Json, place: Place): Json | undefined {
  let value: Json | undefined = document
  for (const token of place) {
    if (Array.isArray(value)) value = (value as readonly Json[]).find((element) => identityOf(element) === token)
    else value = isJsonObject(value) && Object.hasOwn(value, token) ? value[token] : undefined
  }
  return value
}

/** Text to search for in recorded outputs, as in canonical JSON; undefined if matches would not be meaningful. */
function needleOf(value: Json | undefined): string | undefined {
  const own = isJsonObject(value) && value.value !== undefined ? value.value : value
  if (typeof own === 'string' && own.length >= TELLING_CHARS) return JSON.stringify(own)
  if (typeof own === 'number' && String(own).length >= TELLING_CHARS) return String(own)
  return undefined
}
