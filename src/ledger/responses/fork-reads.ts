/** @module Answers about a fork, a report or a join that is already recorded, read from its events. */
import { branchOf } from '../../../projections/run-forks.ts'
import { type ForkState, type RunState, safeKey } from '../../../projections/run-state.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { forkOfScopes } from '../../domain/fork.ts'
import type { RunCommand } from '../../domain/run-command.ts'
import { branchBody, forkBody, joinedBody, joinRefusal } from './fork-responses.ts'
import type { AnsweredEvent, CommandResponse } from './response-parts.ts'

interface ForkReads {
  eventAt(stream: string, revision: number): Promise<AnsweredEvent | undefined>
  contextAt(stream: string, revision: number): Promise<JsonObject>
}

export interface Recorded {
  readonly stream: string
  readonly state: RunState
  /** Run, revision and digest, as in every answer. */
  readonly place: JsonObject
}

/** Undefined if the command does not concern a fork. Has to be called on the state to which the answer applies; the returned function reads the events. */
export function recordedFork(
  reader: ForkReads,
  command: RunCommand,
  recorded: Recorded,
): (() => Promise<CommandResponse>) | undefined {
  switch (command.kind) {
    case 'fork':
      return openedFork(reader, forkOfScopes(recorded.state, command.body), recorded)
    case 'branch':
      return report(reader, { forkId: command.forkId, branch: command.body.branch }, recorded)
    case 'join':
      return () => joined(reader, command.forkId, recorded)
    default:
      return undefined
  }
}

function openedFork(
  reader: ForkReads,
  fork: ForkState | undefined,
  { stream, place }: Recorded,
): () => Promise<CommandResponse> {
  const known = structuredClone(fork)
  return async () => {
    if (known === undefined) throw new TypeError(`${stream} holds no such fork`)
    const frozen = await reader.contextAt(stream, known.revision)
    return { kind: 'body', created: false, body: { ...place, ...forkBody(known, frozen) } }
  }
}

function report(
  reader: ForkReads,
  { forkId, branch }: { forkId: string; branch: string },
  { stream, state, place }: Recorded,
): () => Promise<CommandResponse> {
  const revision = branchOf(state.forks[safeKey(forkId)], branch)?.revision ?? 0
  return async () => {
    const event = await reader.eventAt(stream, revision)
    if (event?.type !== 'BranchOffered' && event?.type !== 'BranchReceived') {
      throw new TypeError(`${stream} @ ${revision} reports no branch`)
    }
    return { kind: 'body', created: false, body: { ...place, ...branchBody(event) } }
  }
}

async function joined(reader: ForkReads, forkId: string, { stream, state, place }: Recorded): Promise<CommandResponse> {
  const at = state.forks[safeKey(forkId)]?.joinRevision ?? 0
  const verdict = await reader.eventAt(stream, at)
  if (verdict?.type !== 'ForkJoined') throw new TypeError(`${stream} @ ${at} joins no fork`)
  const accepted = await reader.eventAt(stream, at + 1)
  if (verdict.data.outcome !== 'joined' || accepted?.type !== 'EnvelopeAccepted') {
    return { kind: 'refusal', refusal: joinRefusal(verdict, state.runId) }
  }
  const context = await reader.contextAt(stream, at + 1)
  return { kind: 'body', created: false, body: { ...place, ...joinedBody(verdict, accepted, context) } }
}
