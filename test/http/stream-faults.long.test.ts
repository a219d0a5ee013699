import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { StoreUnavailableError } from '../../src/store/event-store.ts'
import { type BreakingStore, breakingStore } from '../support/breaking-store.ts'
import { drive } from '../support/run-driver.ts'
import { type StreamedRoute, streamedRoutes } from '../support/streamed-routes.ts'
import { type TestEdge, testEdge } from '../support/test-edge.ts'
import { openTestStore } from '../support/test-store.ts'
import { signedIn } from '../support/ui-client.ts'
import { within } from '../support/within.ts'

const test = suite('http: streams over a store that fails')

interface Home extends AsyncDisposable {
  readonly edge: TestEdge
  readonly store: BreakingStore
  readonly ask: (route: StreamedRoute) => Promise<Response>
  readonly slots: () => Promise<number>
  readonly unhandled: readonly unknown[]
}

async function openHome(): Promise<Home> {
  const store = breakingStore(await openTestStore())
  const settings = { heartbeatMs: 5 }
  const edge = await testEdge({ store, merkleLogs: true, audit: 'unrecorded', settings, tenant: 'acme' })
  const run = drive(edge.inner, 'r', { tenant: edge.tenant, actor: 'alice' })
  await run.start()
  for (let n = 0; n < 8; n += 1) await run.hand('a', { [`k${n}`]: 'x'.repeat(2_000) })
  await run.called('ship')
  await edge.inner.ledger.logs?.publish()
  const client = await signedIn(edge)
  const unhandled: unknown[] = []
  const note = (error: unknown): void => {
    unhandled.push(error)
  }
  process.on('unhandledRejection', note)
  return {
    edge,
    store,
    unhandled,
    ask: ({ path, page }) => (page ? client.get(path) : edge.get(path)),
    slots: async () => Number(/^countersign_http_streams (\d+)/m.exec(await (await edge.get('/metrics')).text())?.[1]),
    [Symbol.asyncDispose]: async () => {
      process.off('unhandledRejection', note)
      await edge[Symbol.asyncDispose]()
    },
  }
}

/** Reads until the end, or of an endless stream until it has nothing new; leaves then. Says whether it was cut. */
async function readThrough(response: Response, { endless }: StreamedRoute): Promise<{ text: string; cut: boolean }> {
  const reader = response.body?.getReader()
  let text = ''
  try {
    for (;;) {
      const next = await reader?.read()
      if (next === undefined || next.done) return { text, cut: false }
      text += Buffer.from(next.value).toString('latin1')
      if (endless && text.includes(':\n\n')) break
    }
    await reader?.cancel()
    return { text, cut: false }
  } catch {
    return { text, cut: true }
  }
}

/** The log grows by the record of each export: bundles hold it whole, and trailers name its size. */
function isComplete({ path }: StreamedRoute, text: string, before: string): boolean {
  if (path.includes('bundle')) return text.length >= before.length && text.endsWith('\0'.repeat(1_024))
  if (path.includes('export')) return text.length >= before.length
  // A listing is whole without the log, whose own read it was that failed: it then says that it is as of nothing provable.
  const withoutPin = (answer: string): number => answer.replace(/"asOf":(?:null|"[^"]*")\}$/, '').length
  return withoutPin(text) === withoutPin(before)
}

async function settled(home: Home): Promise<void> {
  for (const endMs = performance.now() + 5_000; performance.now() < endMs; ) {
    await new Promise((resolve) => setImmediate(resolve))
    if (home.store.open === 0 && (await home.slots()) === 0) return
  }
}

test('whichever read of the store fails, a stream ends, is never whole, and leaves no slot, reader or promise behind (F31)', async () => {
  await using home = await openHome()
  const { store } = home
  let [broken, cutShort] = [0, 0]
  for (const route of streamedRoutes('r')) {
    const answer = await home.ask(route)
    assert.is(answer.status, 200, route.path)
    const whole = await readThrough(answer, route)
    assert.is(whole.cut, false, route.path)
    for (let n = 1; n < 100; n += 1) {
      let fired = false
      store.breakAt(n, () => {
        fired = true
        throw n % 2 === 0 ? new Error('the disk broke') : new StoreUnavailableError('the store went away', 1)
      })
      const where = `${route.path}, read ${n}`
      const response = await within(home.ask(route), where)
      const { text, cut } = await within(readThrough(response, route), where)
      store.breakAt(0, () => undefined)
      await settled(home)
      assert.equal([store.open, await home.slots()], [0, 0], where)
      if (!fired) break
      broken += 1
      if (response.status === 200 && !cut && !route.endless) assert.ok(isComplete(route, text, whole.text), where)
      if (cut) cutShort += 1
    }
  }
  assert.ok(broken > 100 && cutShort > 30, `${broken} broken, ${cutShort} in the middle`)
  assert.equal(home.unhandled, [])
})

test('whenever its reader leaves, also in the middle of a read, a stream keeps its slot until the read has ended, then ends quietly (F31)', async () => {
  await using home = await openHome()
  const { store, edge } = home
  let left = 0
  for (const route of streamedRoutes('r')) {
    for (let n = 1; n < 100; n += 1) {
      const where = `${route.path}, read ${n}`
      const [reached, goOn] = [gate(), gate()]
      let fired = false
      store.breakAt(n, async () => {
        fired = true
        reached.open()
        await goOn.opened
        if (n % 3 === 0) throw new StoreUnavailableError('the store went away meanwhile', 1)
      })
      const asked = home.ask(route)
      // Where the read belongs to what comes before the answer, nobody can leave the answer yet.
      const response = await Promise.race([asked, reached.opened])
      if (response === undefined) goOn.open()
      const reader = (await asked).body?.getReader()
      const reading = readOn(reader, route)
      await within(Promise.race([reached.opened, reading]), where)
      const inStream = fired && response !== undefined
      const leaving = reader?.cancel()
      if (inStream && (await asked).status === 200) assert.is(await home.slots(), 1, where)
      goOn.open()
      await within(Promise.all([leaving?.catch(() => undefined), reading]), where)
      store.breakAt(0, () => undefined)
      await settled(home)
      assert.equal([store.open, await home.slots()], [0, 0], where)
      if (!fired) break
      left += 1
    }
  }
  assert.ok(left > 100, String(left))
  assert.equal(home.unhandled, [])
  assert.equal(
    edge.logs.filter(({ level, message }) => level === 'error' && message !== 'a request failed'),
    [],
  )
})

function gate(): { readonly open: () => void; readonly opened: Promise<undefined> } {
  let open = (): void => undefined
  const opened = new Promise<undefined>((resolve) => {
    open = () => resolve(undefined)
  })
  return { open, opened }
}

/** To the end, or until nothing new comes. */
async function readOn(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  { endless }: StreamedRoute,
): Promise<void> {
  try {
    for (;;) {
      const next = await reader?.read()
      if (next?.done !== false || (endless && Buffer.from(next.value).includes(':\n\n'))) return
    }
  } catch {
    // It was cut.
  }
}

test.run()
