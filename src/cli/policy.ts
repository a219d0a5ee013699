/**
 * @module `countersign policy`: learns from recorded runs which places change regularly (`moves`), adopts the places that agents declared, and tries a policy
 * on recorded handoffs.
 */
import { existsSync } from 'node:fs'
import type { RunAnswer } from '../../schemas/answers/runs.ts'
import type { Finding } from '../../schemas/finding.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'
import type { Move } from '../../schemas/place-policy.ts'
import type { PolicyObject } from '../../schemas/policy.ts'
import { adoptedMoves } from '../domain/validator/declared/adopted.ts'
import { Learner, type Proposal } from '../domain/validator/declared/learn.ts'
import { handoffInput } from '../domain/validator/judge-handoff.ts'
import { underTenantPolicy } from '../domain/validator/policy/with-tenant.ts'
import { validateHandoff } from '../domain/validator/validate.ts'
import { readPolicies } from '../settings/policy-file.ts'
import { type Api, openApi } from './api.ts'
import type { Arguments } from './arguments.ts'
import { CliFailure, EXIT, usageFailure } from './failure.ts'
import { handoffsOfFile, type RecordedHandoff, recordedHandoffs } from './recorded-handoffs.ts'
import { jsonLine } from './shown.ts'
import { printRows, stdout } from './table.ts'
import { addMoves } from './write-policy.ts'

/** Number of runs that are read if none is named. */
const RUNS_DEFAULT = 100

/** Prints the declarations of a run's agents as members of a policy, or writes them to a file. */
export async function adopt(args: Arguments): Promise<number> {
  const [run = ''] = args.positionals
  await using api = await openApi(args)
  const { declared = [] } = (await api.get(`/v1/runs/${encodeURIComponent(run)}`)) as Pick<RunAnswer, 'declared'>
  const moves = adoptedMoves(declared)
  if (moves.length === 0) throw new CliFailure(`the agents of ${run} declared no place that moves`, EXIT.usage)
  offer(moves, args)
  return api.exitCode()
}

export async function learn(args: Arguments): Promise<number> {
  const learner = new Learner()
  const [first = ''] = args.positionals
  if (args.positionals.length === 1 && existsSync(first)) {
    for (const handoff of handoffsOfFile(first)) learner.observe(handoff)
    return await proposed(learner, args)
  }
  await using api = await openApi(args)
  for (const run of await runsOf(api, args)) {
    for await (const { isAccepted, before, after, envelope } of recordedHandoffs(api, run)) {
      const superseded = envelope.supersedes?.map(({ path }) => path) ?? []
      if (isAccepted) learner.observe({ run, before, after, superseded })
    }
  }
  const code = await proposed(learner, args)
  return code === EXIT.ok ? api.exitCode() : code
}

async function proposed(learner: Learner, args: Arguments): Promise<number> {
  const found = learner.proposals()
  const { handoffs, runs } = learner.observed
  process.stderr.write(`${handoffs} handoffs of ${runs} runs: ${found.length} places that move\n`)
  const moves = found.map(({ path, as, order }: Proposal) => ({
    path,
    as,
    ...(order !== undefined && { order: [...order] }),
  }))
  if (args.text('into') !== undefined && moves.length > 0) offer(moves as Move[], args)
  else {
    await printRows(rows(found.map((each) => ({ ...each, order: each.order?.join(' ') ?? null }))), {
      columns: ['path', 'as', 'order', 'changes', 'runs'],
      json: args.has('json'),
    })
  }
  return EXIT.ok
}

/** Adds the `moves` to the given file; otherwise prints them, to be added by hand. */
function offer(moves: readonly Move[], args: Arguments): void {
  const into = args.text('into')
  if (into === undefined) {
    stdout.write(jsonLine({ moves: moves as unknown as Json }))
    return
  }
  const { added, kept } = addMoves(into, moves, args.text('for'))
  const left = kept === 0 ? '' : `; ${kept} places of it have a kind already and keep it`
  process.stderr.write(`${into}: ${added} places that move were added${left}\n`)
}

/** Shows the verdicts that a policy would have had on recorded handoffs. Always exits with 0 for policy findings: it is only a query. */
export async function tryPolicy(args: Arguments): Promise<number> {
  const [file = ''] = args.positionals
  const candidate = readPolicies(file)(args.text('for') ?? 'default')
  if (candidate === undefined) throw usageFailure(`${file} has no policy for this tenant`)
  await using api = await openApi(args)
  const runs = await runsOf(api, { ...args, positionals: args.positionals.slice(1) })
  const tally = { handoffs: 0, refused: 0, suspect: 0, notLookedAt: 0 }
  await printRows(verdicts(api, runs, candidate, tally), {
    columns: ['run', 'revision', 'agent', 'was', 'verdict', 'rule', 'path', 'message'],
    json: args.has('json'),
  })
  const { handoffs, refused, suspect, notLookedAt } = tally
  const unread =
    notLookedAt === 0
      ? ''
      : `; at ${notLookedAt} of them some recorded results are stored beside the events, and were not looked at`
  process.stderr.write(
    `${handoffs} handoffs of ${runs.length} runs: ${refused} refused, ${suspect} with a suspect${unread}\n`,
  )
  return api.exitCode()
}

interface Tally {
  handoffs: number
  refused: number
  suspect: number
  notLookedAt: number
}

async function* verdicts(
  api: Api,
  runs: readonly string[],
  candidate: PolicyObject,
  tally: Tally,
): AsyncGenerator<JsonObject, void> {
  for (const run of runs) {
    for await (const handoff of recordedHandoffs(api, run)) {
      const { verdict, findings } = verdictUnder(handoff, candidate)
      tally.handoffs += 1
      if (verdict === 'reject') tally.refused += 1
      if (findings.some((finding) => finding.suspect === true)) tally.suspect += 1
      if (handoff.evidence.unread.length > 0) tally.notLookedAt += 1
      const { revision, envelope, isAccepted } = handoff
      const place = { run, revision, agent: envelope.agent, was: isAccepted ? 'accepted' : 'refused' }
      for (const { rule, path, message, severity, suspect } of findings.filter(isTold))
        yield { ...place, verdict: suspect === true ? 'suspect' : severity, rule, path, message }
    }
  }
}

function isTold({ severity, suspect }: Finding): boolean {
  return severity === 'error' || suspect === true
}

function verdictUnder(
  { state, evidence, envelope, after }: RecordedHandoff,
  candidate: PolicyObject,
): ReturnType<typeof validateHandoff> {
  const under = underTenantPolicy(undefined, candidate)
  if (!under.ok) throw new CliFailure(under.refusal.detail, EXIT.usage)
  const manifest = state.manifests[`$${envelope.agent}`]
  const judged = { ...state, policy: under.policy }
  return validateHandoff(handoffInput(judged, envelope, { context: after, manifest, evidence }))
}

async function runsOf(api: Api, { positionals }: Pick<Arguments, 'positionals'>): Promise<readonly string[]> {
  if (positionals.length > 0) return positionals
  const runs: string[] = []
  for await (const { runId } of api.items('/v1/runs', {}, RUNS_DEFAULT)) runs.push(`${runId}`)
  return runs
}

async function* rows<T extends JsonObject>(items: readonly T[]): AsyncGenerator<JsonObject, void> {
  yield* items
}
