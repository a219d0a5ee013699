/** @module The part of a run's fold that follows forks and branches. */
import type { EventBody } from '../schemas/events.ts'
import type { RecordedEvent } from './projection.ts'
import { type BranchState, type ForkState, type RunState, slot } from './run-state.ts'

export function foldForks(state: RunState, event: RecordedEvent): void {
  const { revision } = event.header
  switch (event.type) {
    case 'ForkStarted':
      foldStarted(state, event.data, revision)
      return
    case 'BranchOffered':
      foldOffered(state, event.data, revision)
      return
    case 'BranchReceived':
      foldReceived(state, event.data, revision)
      return
    case 'ForkJoined':
      foldJoined(state, event.data, revision)
      return
    case 'RunBranched':
      state.branches[slot(event.data.run)] = { run: event.data.run, atStep: event.data.atStep, revision }
      return
    default:
      return
  }
}

function foldStarted(state: RunState, data: EventBody<'ForkStarted'>, revision: number): void {
  const { forkId, agent, step, context, parent, join, onDiscard, requestDigest } = data
  const branches = data.branches.map((branch): BranchState => ({ ...branch, status: 'running' }))
  for (const branch of branches) {
    state.agents[slot(branch.agent)] = true
    state.forkScopes[slot(branch.scope)] = forkId
  }
  const fork = { forkId, agent, step, context, parent, join, onDiscard, requestDigest, revision, branches, offers: [] }
  state.forks[slot(forkId)] = fork
  state.openFork = forkId
}

function foldOffered(state: RunState, data: EventBody<'BranchOffered'>, revision: number): void {
  const fork = state.forks[slot(data.forkId)]
  const branch = branchOf(fork, data.branch)
  if (fork === undefined || branch === undefined) return
  const { report, output, confidence, score } = data
  Object.assign(branch, {
    status: 'offered',
    revision,
    report,
    output,
    confidence,
    ...(score === undefined ? {} : { score }),
  })
  fork.offers.push(data.branch)
  if (data.signature !== undefined) state.signatures[slot(data.signature)] = true
}

function foldReceived(state: RunState, data: EventBody<'BranchReceived'>, revision: number): void {
  const branch = branchOf(state.forks[slot(data.forkId)], data.branch)
  if (branch === undefined) return
  const { status, report, confidence, score } = data
  // An offer keeps the revision where its output stands.
  if (branch.status !== 'offered') branch.revision = revision
  Object.assign(branch, {
    status,
    ...(report === undefined ? {} : { report }),
    ...(confidence === undefined ? {} : { confidence }),
    ...(score === undefined ? {} : { score }),
  })
}

function foldJoined(state: RunState, { forkId, outcome }: EventBody<'ForkJoined'>, revision: number): void {
  const fork = state.forks[slot(forkId)]
  if (fork !== undefined) {
    fork.outcome = outcome
    fork.joinRevision = revision
  }
  delete state.openFork
}

export function branchOf(fork: ForkState | undefined, name: string): BranchState | undefined {
  return fork?.branches.find((branch) => branch.name === name)
}
