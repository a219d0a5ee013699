/**
 * @module The judge of accepted handoffs: runs in the background, its verdicts are recorded by step, and it is not called again for a recorded one. A failure
 * of the judge is no assent: the verdict is `unavailable`, with the reason.
 */
import type { Finding } from '../../../schemas/finding.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { RecordJudgement } from '../../../schemas/requests.ts'
import { linkedSignal } from '../../resources/linked-signal.ts'
import { AgentError, LedgerRefused } from '../errors.ts'
import type { Reply } from '../runtime/connection.ts'
import { thrownText } from '../thrown.ts'

/** An accepted handoff, as a judge receives it. */
export interface JudgedHandoff {
  readonly runId: string
  readonly step: number
  readonly agent: string
  /** The context before the handoff, and the one it established. */
  readonly before: JsonObject
  readonly after: JsonObject
  /** Warnings of the ledger's own rules. */
  readonly findings: readonly Finding[]
  /** Aborted when the timeout expires or the run is aborted. */
  readonly signal: AbortSignal
}

/** The verdict on a handoff. */
export interface JudgeVerdict {
  readonly verdict: 'accept' | 'reject'
  /** Each objection: a JSON Pointer into the context (`''` for the whole) and the reason. At most 20 are recorded. */
  readonly findings?: readonly { readonly path: string; readonly message: string }[]
  readonly model?: string
  /** Digest of the prompt: `sha256:` and 64 hex digits. */
  readonly promptDigest?: string
}

/**
 * Judges content that rules cannot check, such as sentences: a model call of yours, a service or a person. The verdict is recorded as a warning; with `policy:
 * {judge: "reject"}` the next handoff is refused until the objection is resolved. Throws `invalid-judge` if the judge is not valid.
 * @example
 * ```ts
 * import { type Judge, open } from 'countersign/agent'
 *
 * const judge: Judge = {
 *   name: 'notes',
 *   judge: async ({ after }) => {
 *     const isWrong = String(after.notes).includes('no allergies')
 *     return isWrong
 *       ? { verdict: 'reject', findings: [{ path: '/notes', message: 'the facts name an allergy' }] }
 *       : { verdict: 'accept' }
 *   },
 * }
 * await using cs = await open({ path: ':memory:' })
 * await cs.run({ name: 'intake', judge, policy: { judge: 'reject' } }, (run) => run.handoff({ notes: 'well' }, { agent: 'nurse' }))
 * ```
 */
export interface Judge {
  readonly name: string
  readonly judge: (handoff: JudgedHandoff) => JudgeVerdict | Promise<JudgeVerdict>
  /** Milliseconds; default 30,000. */
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 30_000
const FINDINGS_MAX = 20
const PATH_MAX_CHARS = 4096
const MESSAGE_MAX_CHARS = 2048
const REASON_MAX_CHARS = 1024
const DIGEST = /^sha256:[0-9a-f]{64}$/

/** Validates a judge, if there is one. Throws `invalid-judge`. */
export function checkedJudge(judge: Judge | undefined): Judge | undefined {
  if (judge === undefined) return undefined
  const { name, judge: ask, timeoutMs = TIMEOUT_MS } = judge
  const isFine = typeof name === 'string' && name !== '' && typeof ask === 'function' && timeoutMs > 0
  if (isFine) return judge
  throw new AgentError('invalid-judge', 'a judge is {name, judge: function, timeoutMs?: milliseconds above 0}')
}

/** The services of a session for its judge. */
export interface JudgingSession {
  readonly runId: string
  readonly signal: AbortSignal | undefined
  /** Runs background work that the end of the run waits for. */
  readonly behind: (work: () => Promise<void>) => Promise<void>
  readonly isJudged: (step: number) => boolean
  readonly judged: (step: number) => void
  readonly execute: (body: RecordJudgement) => Promise<Reply>
}

/** The judge of one run, with its pending verdicts. */
export class Judging {
  readonly #judge: Judge | undefined
  readonly #session: JudgingSession
  #pending: Promise<void> = Promise.resolve()

  constructor(judge: Judge | undefined, session: JudgingSession) {
    this.#judge = judge
    this.#session = session
  }

  /** Resolves when every requested verdict is recorded. */
  settled(): Promise<void> {
    return this.#pending
  }

  /** Requests a verdict on the step, unless one is recorded. */
  consider(handoff: Omit<JudgedHandoff, 'runId' | 'signal'>): void {
    const [judge, session] = [this.#judge, this.#session]
    if (judge === undefined || session.isJudged(handoff.step)) return
    const earlier = this.#pending
    this.#pending = session.behind(async () => {
      await earlier
      const verdict = await verdictOf(judge, { ...handoff, runId: session.runId }, session.signal)
      await post(session, { ...verdict, step: handoff.step, judge: judge.name })
    })
    this.#pending.catch(() => undefined)
  }
}

async function post(session: JudgingSession, body: RecordJudgement): Promise<void> {
  const reply = await session.execute(body)
  // The step is no longer part of the run: there is nothing left to judge.
  if (!reply.ok && reply.problem.code !== 'unknown-step') throw new LedgerRefused(reply.problem)
  session.judged(body.step)
}

type RecordedVerdict = Pick<RecordJudgement, 'verdict' | 'reason' | 'model' | 'promptDigest' | 'findings'>

async function verdictOf(
  judge: Judge,
  handoff: Omit<JudgedHandoff, 'signal'>,
  ended: AbortSignal | undefined,
): Promise<RecordedVerdict> {
  const { timeoutMs = TIMEOUT_MS } = judge
  const timer = new AbortController()
  const late = setTimeout(() => timer.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
  const signal = linkedSignal(timer.signal, ended)
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
    if (signal.aborted) reject(signal.reason as Error)
  })
  aborted.catch(() => undefined)
  try {
    const judging = Promise.resolve().then(() => judge.judge({ ...structuredClone(handoff), signal }))
    return recordedVerdict(await Promise.race([judging, aborted]))
  } catch (error) {
    return unavailable(thrownText(error))
  } finally {
    clearTimeout(late)
  }
}

function unavailable(reason: string): RecordedVerdict {
  return { verdict: 'unavailable', reason: reason.slice(0, REASON_MAX_CHARS) }
}

/** An invalid answer counts as `unavailable`. */
function recordedVerdict(answer: unknown): RecordedVerdict {
  if (typeof answer !== 'object' || answer === null) return unavailable('the judge gave no verdict')
  const { verdict, findings = [], model, promptDigest } = answer as Partial<JudgeVerdict>
  if (verdict !== 'accept' && verdict !== 'reject') return unavailable('the judge says neither "accept" nor "reject"')
  if (!Array.isArray(findings) || !findings.every(isFinding))
    return unavailable('a finding of the judge is no {path, message}')
  const about = {
    ...(typeof model === 'string' && model !== '' && { model: model.slice(0, 128) }),
    ...(typeof promptDigest === 'string' && DIGEST.test(promptDigest) && { promptDigest }),
  }
  if (verdict === 'accept') return { verdict, ...about }
  const reported = findings
    .slice(0, FINDINGS_MAX)
    .map(({ path, message }) => ({ path, message: message.slice(0, MESSAGE_MAX_CHARS) }))
  return {
    verdict,
    ...about,
    findings: reported.length > 0 ? reported : [{ path: '', message: 'the judge does not say why' }],
  }
}

function isFinding(finding: unknown): finding is { path: string; message: string } {
  if (typeof finding !== 'object' || finding === null) return false
  const { path, message } = finding as { path?: unknown; message?: unknown }
  const isPointer = typeof path === 'string' && path.length <= PATH_MAX_CHARS && (path === '' || path.startsWith('/'))
  return isPointer && typeof message === 'string' && message !== ''
}
