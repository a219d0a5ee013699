/** @module Every exit of a ledger: how it is asked, and how its answer is held against the model. */
import { join } from 'node:path'
import { runInProcess } from '../support/in-process-command.ts'
import type { Answer, Edge } from './truth-oracle-edge.ts'
import {
  admits,
  answerBundled,
  answered,
  audited,
  bundled,
  byId,
  checkpointed,
  eventsRead,
  exported,
  type Judge,
  leavesOf,
  printed,
  proven,
  QUESTIONS,
  type Question,
  replayed,
  reported,
  runListed,
  runRead,
  runShown,
  runsShown,
  saysWell,
  shown,
  sound,
  spent,
  struck,
  type Truth,
  written,
} from './truth-oracle-judge.ts'

/** The name begins with its kind, up to the colon. */
export interface Exit {
  readonly name: string
  readonly ask: (edge: Edge, truth: Truth) => Promise<Answer>
  readonly judge: Judge
}

const get = (name: string, path: string | ((truth: Truth) => string), judge: Judge): Exit => ({
  name,
  ask: (edge, truth) => edge.get(typeof path === 'string' ? path : path(truth)),
  judge,
})

const FORMATS = ['jsonl', 'csv', 'cloudevents', 'cloudevents-batch', 'ocsf', 'otlp']

/** Asked at once. */
export const READS: readonly Exit[] = [
  ...FORMATS.map((format) => get(`export: ${format}`, `/v1/export?format=${format}`, exported(format, leavesOf))),
  get('export of the run: jsonl', ({ run }) => `/v1/runs/${run}/export`, exported('jsonl', struck)),
  get('export of the run: csv', ({ run }) => `/v1/runs/${run}/export?format=csv`, exported('csv', struck)),
  get('export of another run: jsonl', ({ other }) => `/v1/runs/${other}/export`, exported('jsonl', sound)),
  get('bundle: tenant', '/v1/bundle', bundled(leavesOf)),
  get('bundle of the run: streams', ({ run }) => `/v1/bundle?run=${run}`, bundled(struck)),
  get('bundle of the run: whole log', ({ run }) => `/v1/bundle?run=${run}&proof=log`, bundled(struck)),
  get('bundle of another run: streams', ({ other }) => `/v1/bundle?run=${other}`, bundled(sound)),
  get('bundle of another run: whole log', ({ other }) => `/v1/bundle?run=${other}&proof=log`, bundled(sound)),
  ...Object.entries(QUESTIONS).flatMap(([name, { query, judge }]) => {
    const more = query.includes('?') ? '&' : '?'
    return [
      get(`query: ${name}`, `/v1/audit/${query}${more}limit=500`, audited(judge)),
      get(`answer: ${name}`, `/v1/answers/${query}`, answered(judge)),
      // What is found by words is no bundle.
      ...(name === 'search'
        ? []
        : [get(`answer bundle: ${name}`, `/v1/answers/${query}${more}format=bundle`, answerBundled(judge))]),
    ]
  }),
  get('replay: the run', ({ run }) => `/v1/runs/${run}/replay`, replayed(struck)),
  get('replay: another run', ({ other }) => `/v1/runs/${other}/replay`, replayed(sound)),
  get('checkpoint: served', '/v1/log/checkpoint', checkpointed),
  get('proof: first event of the run', (truth) => `/v1/log/events/${struck(truth)[0]?.id}/proof.tlog-proof`, proven),
  get('read: runs', '/v1/runs?limit=200', runListed),
  get('read: the run', ({ run }) => `/v1/runs/${run}`, runRead),
  get('read: events of the run', ({ run }) => `/v1/runs/${run}/events?limit=200`, eventsRead),
]

const isReady = (text: string): boolean => !admits(text) && text.includes('"ready"')
const noFault = (text: string): boolean => JSON.parse(text).items.length === 0 && !admits(text)

/** Asked after those, one by one: what they came upon is known by then. */
export const LATER: readonly Exit[] = [
  get('checkpoint: signed now', '/v1/log/checkpoint', checkpointed),
  ...['/ui/overview', '/ui/log'].map((path) => page(`page: ${path}`, () => path)),
  page('page: /ui/runs', () => '/ui/runs', runsShown),
  page('page: the run', ({ run }) => `/ui/runs/${run}`, runShown),
  get('readyz: readyz', '/readyz', saysWell(isReady)),
  get('integrity: integrity', '/v1/integrity', saysWell(noFault)),
]

/** Last: it changes the run. */
export const WRITE: Exit = {
  name: 'write: the run',
  ask: (edge, { run }) => edge.post(`/v1/runs/${run}/envelopes`, { agent: 'writer', payload: { note: 'again' } }),
  judge: written,
}

export const EXITS: readonly Exit[] = [...READS, ...LATER, WRITE]

/** The kind of an exit: its name up to the colon. */
export const kindOf = (exit: string): string => exit.slice(0, exit.indexOf(':'))

function page(name: string, path: (truth: Truth) => string, judge = shown): Exit {
  return { name, ask: (edge, truth) => edge.page(path(truth)), judge }
}

/** The data folder, and the URL of a store that is on a server. */
interface CommandPlace {
  readonly data: string
  readonly store: string | undefined
}

/** Of the command line, on a folder that nobody has open. */
interface Command {
  readonly name: string
  readonly args: (truth: Truth, place: CommandPlace) => readonly string[]
  readonly judge: Judge
}

export const COMMANDS: readonly Command[] = [
  {
    name: 'verify: store',
    args: () => ['verify', '--json'],
    judge: saysWell((text) => JSON.parse(text).verdict === 'VERIFIED'),
  },
  {
    name: 'replay: command',
    args: ({ tenant, run }) => ['replay', run, '--tenant', tenant, '--json'],
    judge: replayed(struck),
  },
  {
    name: 'report: command',
    args: ({ tenant, run }) => ['report', run, '--tenant', tenant, '--json'],
    judge: reported,
  },
  {
    name: 'copy: store',
    args: (_, { data, store = join(data, 'store.db') }) => ['copy', '--from', store, '--to', join(data, 'copied.db')],
    judge: saysWell(() => true),
  },
  audit('events', byId(leavesOf)),
  audit('spend', spent),
]

function audit(name: string, question: Question): Command {
  const args = ({ tenant }: Truth) => ['audit', name, '--tenant', tenant, '--json', '--limit', '500']
  return { name: `audit: ${name}`, args, judge: printed(question) }
}

export async function runCommand(command: Command, at: CommandPlace, truth: Truth): Promise<Answer> {
  const { data, store } = at
  const args = command.args(truth, at)
  const place = store === undefined || args.includes(store) ? [] : ['--store', store]
  const { code, stdout } = await runInProcess([...args, '--data', data, ...place])
  return { status: code === 0 ? 200 : 500, text: stdout, bytes: Buffer.from(stdout), cut: false }
}
