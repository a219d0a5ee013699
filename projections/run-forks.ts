/** @module The fold of forks and branches in a run. */
import type { EventBody } from '../schemas/events.ts'
import type { Header } from '../schemas/header.ts'
import type { FoldTable } from './fold-table.ts'
import { type BranchState, type ForkState, foldSigned, type RunState, safeKey } from './run-state.ts'

export const FORK_FOLDS = {
  ForkStarted: foldStarted,
  BranchOffered: foldOffered,
  BranchReceived: foldReceived,
  ForkJoined: foldJoined,
  RunBranched: (state, { run, atStep }, { revision }) => {
    state.branches[safeKey(run)] = { run, atStep, revision }
  },
} satisfies Partial<FoldTable<RunState>>

function foldStarted(state: RunState, data: EventBody<'ForkStarted'>, { revision }: Header): void {
  const { forkId, agent, step, context, parent, join, onDiscard, requestDigest } = data
  const branches = data.branches.map((branch): BranchState => ({ ...branch, status: 'running' }))
  for (const branch of branches) {
    state.agents[safeKey(branch.agent)] = true
    state.forkScopes[safeKey(branch.scope)] = forkId
  }
  const fork = { forkId, agent, step, context, parent, join, onDiscard, requestDigest, revision, branches, offers: [] }
  state.forks[safeKey(forkId)] = fork
  state.openFork = forkId
}

function foldOffered(state: RunState, data: EventBody<'BranchOffered'>, { revision }: Header): void {
  const fork = state.forks[safeKey(data.forkId)]
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
  foldSigned(state, data)
}

function foldReceived(state: RunState, data: EventBody<'BranchReceived'>, { revision }: Header): void {
  foldSigned(state, data)
  const branch = branchOf(state.forks[safeKey(data.forkId)], data.branch)
  if (branch === undefined) return
  const { status, report, confidence, score } = data
  // An offered branch keeps the revision of its offer, which holds the output.
  if (branch.status !== 'offered') branch.revision = revision
  Object.assign(branch, {
    status,
    ...(report === undefined ? {} : { report }),
    ...(confidence === undefined ? {} : { confidence }),
    ...(score === undefined ? {} : { score }),
  })
}

function foldJoined(state: RunState, { forkId, outcome }: EventBody<'ForkJoined'>, { revision }: Header): void {
  const fork = state.forks[safeKey(forkId)]
  if (fork !== undefined) {
    fork.outcome = outcome
    fork.joinRevision = revision
  }
  delete state.openFork
}

export function branchOf(fork: ForkState | undefined, name: string): BranchState | undefined {
  return fork?.branches.find((branch) => branch.name === name)
}
