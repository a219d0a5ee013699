import { existsSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { errorKind } from '../../src/workers/failure.ts'
import type { NoCalls } from '../../src/workers/peer.ts'
import { WorkerThread } from '../../src/workers/worker-thread.ts'
import { runCommand } from '../support/command-line.ts'
import { tempFolder } from '../support/temp-folder.ts'

const MIB = 1024 * 1024
/** Of its heap, and what V8 keeps besides. */
const LIMIT_MIB = 256 + 32

const moduleOf = (text: string): URL => new URL(`data:text/javascript,${encodeURIComponent(text)}`)
const built = (path: string): string => JSON.stringify(new URL(`../../src/${path}.js`, import.meta.url).href)

const LIMITS = moduleOf(`
  import { parentPort, resourceLimits } from 'node:worker_threads'
  import { getHeapStatistics } from 'node:v8'
  const value = { ...resourceLimits, bytes: getHeapStatistics().heap_size_limit }
  parentPort.on('message', ({ kind, id }) => kind === 'end' ? process.exit() : parentPort.postMessage({ kind: 'done', id, value }))`)

const PARENT = `
  import { WorkerThread } from ${built('workers/worker-thread')}
  const options = { workerData: {}, name: 'w', heap: {}, handlers: {}, lost: (why) => why }
  const worker = new WorkerThread({ program: new URL(${JSON.stringify(LIMITS.href)}), ...options })
  console.log((await worker.ask('limits', [])).bytes)
  await worker.end('enough')`

const test = suite('threads of a process')

test('the heap of a thread is bounded, however much room the process was given for young objects (RUN-101)', async () => {
  for (const flags of [[], ['--max-semi-space-size=64']]) {
    const { code, stdout, stderr } = await runCommand([
      process.execPath,
      ...[...flags, '--input-type=module', '--eval', PARENT],
    ])
    assert.is(code, 0, stderr)
    assert.ok(Number(stdout) > 0 && Number(stdout) <= LIMIT_MIB * MIB, `${flags}: ${Number(stdout) / MIB} MiB`)
  }
})

class FaultyError extends Error {
  readonly place: number

  constructor(place: number) {
    super(`faulty at ${place}`)
    this.place = place
  }
}

const FAULTY = errorKind('faulty', FaultyError, {
  data: ({ place }) => place,
  make: (place) => new FaultyError(place),
})

interface Told {
  readonly double: (n: number) => number
  readonly fail: (what: 'kind' | 'plain' | 'unclonable') => unknown
  readonly wait: () => string
  readonly die: (how: string) => void
  readonly sum: (n: number) => number
  readonly hang: () => void
}

interface Host {
  readonly half: (n: number) => number
  readonly note: (text: string) => void
}

/** Answers as its owner is to see it, and waits until it is stopped. */
const PROGRAM = moduleOf(`
  import { serveThread } from ${built('workers/serve-thread')}
  import { errorKind } from ${built('workers/failure')}
  import { writeFileSync } from 'node:fs'
  class Faulty extends Error { place = 7 }
  const kinds = [errorKind('faulty', Faulty, { data: ({ place }) => place, make: () => new Faulty() })]
  await serveThread(async (data, owner) => {
    if (data.fails) throw new Faulty('never begun')
    if (data.asksFirst) await owner.ask('half', [0])
    return {
      handlers: {
        double: (n) => 2 * n,
        fail: async (what) => {
          if (what === 'kind') throw new Faulty('x')
          if (what === 'plain') throw new TypeError('x is no y')
          return () => 'no structured clone'
        },
        wait: (signal) => new Promise((resolve) => signal.addEventListener('abort', () => {
          owner.tell('note', ['stopped'])
          resolve('late')
        })),
        sum: async (n) => n + await owner.ask('half', [n]),
        die: (how) => { if (how === 'exit') process.exit(3); throw new Error(how) },
        hang: () => { for (;;); },
      },
      close: async () => { await owner.stop(); writeFileSync(data.closed, 'in order') },
    }
  }, kinds)`)

async function halved(n: number): Promise<number> {
  if (n < 0) throw new FaultyError(n)
  return n / 2
}

function started(workerData: object = {}, half: (n: number) => Promise<number> = halved) {
  const notes: string[] = []
  const deaths: string[] = []
  const worker = new WorkerThread<Told, Host>({
    ...{ program: PROGRAM, workerData, name: 'w', errors: [FAULTY] },
    heap: { bytes: 64 * MIB, youngBytes: 16 * MIB },
    handlers: {
      half: async (n) => await half(n),
      note: (text) => void notes.push(text),
    },
    lost: ({ message }) => new Error(`gone: ${message}`),
    onDeath: ({ message }) => void deaths.push(message),
  })
  return { worker, notes, deaths }
}

const messageOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing was thrown',
    (error: Error) => error.message,
  )

test('both sides ask and answer, many at a time, each its own', async () => {
  const { worker } = started()
  const answers = [worker.ask('double', [1]), worker.ask('sum', [8]), worker.ask('double', [3])]
  assert.equal(await Promise.all(answers), [2, 12, 6])
  await worker.end('enough')
})

test('an error passes as its kind with what it says, any other with its message, and an answer that cannot pass is an error, too', async () => {
  const { worker } = started()
  const error = await worker.ask('fail', ['kind']).catch((thrown: unknown) => thrown)
  assert.instance(error, FaultyError)
  assert.is((error as FaultyError).place, 7)
  assert.is(await messageOf(worker.ask('fail', ['plain'])), 'x is no y')
  assert.match(await messageOf(worker.ask('fail', ['unclonable'])), /could not be cloned/)
  // That of its owner, seen from the thread and passed back.
  assert.is(await messageOf(worker.ask('sum', [-4])), 'faulty at 7')
  await worker.end('enough')
})

test('who stops waiting waits no longer, and the thread hears of it', async () => {
  const { worker, notes } = started()
  const stopping = new AbortController()
  const waiting = messageOf(worker.ask('wait', [], stopping.signal))
  stopping.abort(new Error('no more'))
  assert.is(await waiting, 'no more')
  assert.is(await messageOf(worker.ask('wait', [], stopping.signal)), 'no more')
  assert.is(await worker.ask('double', [1]), 2)
  assert.equal(notes, ['stopped'])
  await worker.end('enough')
})

for (const how of ['exit', 'a throw'] as const)
  test(`the end of a thread by ${how} refuses everyone who waits, and everyone who comes later, and is told once`, async () => {
    const { worker, deaths } = started()
    const waiting = messageOf(worker.ask('wait', []))
    worker.tell('die', [how])
    const why = how === 'exit' ? 'it ended' : how
    assert.is(await waiting, `gone: ${why}`)
    assert.is(await messageOf(worker.ask('double', [1])), `gone: ${why}`)
    worker.tell('double', [1])
    await worker.end('enough', 0)
    assert.equal(deaths, [why])
  })

test('a thread that cannot begin says why, and is never ready', async () => {
  const { worker, deaths } = started({ fails: true })
  const asked = messageOf(worker.ask('double', [1]))
  assert.is(await messageOf(worker.ready()), 'gone: faulty at 7')
  assert.is(await asked, 'gone: faulty at 7')
  assert.equal(deaths, ['faulty at 7'])
})

test('a thread that is ended puts things in order first, refuses who still waits, and dies of nothing', async () => {
  using folder = tempFolder()
  const closed = folder.file('closed')
  const { worker, notes, deaths } = started({ closed })
  const waiting = messageOf(worker.ask('wait', []))
  assert.is(await worker.ask('double', [1]), 2)
  await worker.end('the server is closing')
  await worker.end('again', 0)
  assert.is(await waiting, 'gone: the server is closing')
  assert.equal([existsSync(closed), notes, deaths], [true, [], []])
})

test('what is asked before a thread has begun waits for it, and what is aborted meanwhile is told so', async () => {
  let release = (): void => undefined
  const gate = new Promise<number>((resolve) => {
    release = () => resolve(0)
  })
  const { worker } = started({ asksFirst: true }, () => gate)
  const stopping = new AbortController()
  const [doubled, waiting] = [worker.ask('double', [2]), messageOf(worker.ask('wait', [], stopping.signal))]
  stopping.abort(new Error('no more'))
  release()
  assert.equal([await doubled, await waiting], [4, 'no more'])
  await worker.end('enough')
})

test('a thread that does not end by itself is terminated when its time is over', async () => {
  const { worker } = started()
  worker.tell('hang', [])
  await worker.end('enough', 50)
})

test('of the heap of a thread, young objects have no more than it is given for them', async () => {
  const limited = new WorkerThread<
    { limits: () => { maxYoungGenerationSizeMb: number; maxOldGenerationSizeMb: number } },
    NoCalls
  >({
    ...{ program: LIMITS, workerData: {}, name: 'w', heap: { bytes: 64 * MIB, youngBytes: 16 * MIB }, handlers: {} },
    lost: (why) => why,
  })
  const limits = await limited.ask('limits', [])
  assert.is(limits.maxYoungGenerationSizeMb, 16)
  assert.is(limits.maxOldGenerationSizeMb, 48)
  await limited.end('enough')
})

test.run()
