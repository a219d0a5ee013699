/** @module Which files of ours run while some work is done, and who called whom: as V8 counts calls, and by a breakpoint at the begin of each function. */
import { type Debugger, Session } from 'node:inspector'
import { Session as AsyncSession } from 'node:inspector/promises'

/** Steps of `await` that a stack is followed back over. */
const ASYNC_DEPTH = 16

/** Without the store's, of which each backend has its own, and the threads', in one of which SQLite's writes. */
function fileAt(url: string): string | undefined {
  return /\/dist\/((?:src\/(?!store\/|workers\/)|schemas\/|projections\/).*)\.js$/.exec(url)?.[1]
}

interface Entered {
  readonly scriptId: string
  readonly url: string
  /** Where the functions begin that were called, as offsets into the script. */
  readonly begins: readonly number[]
}

async function entered(work: () => Promise<unknown>): Promise<readonly Entered[]> {
  const session = new AsyncSession()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    await session.post('Profiler.takePreciseCoverage')
    await work()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    return result.flatMap(({ scriptId, url, functions }) => {
      const begins = functions.flatMap(({ ranges: [whole] }) => (whole && whole.count > 0 ? [whole.startOffset] : []))
      return begins.length > 0 && fileAt(url) !== undefined ? [{ scriptId, url, begins }] : []
    })
  } finally {
    session.disconnect()
  }
}

/** Files in which a function ran meanwhile. */
export async function filesCrossed(work: () => Promise<unknown>): Promise<readonly string[]> {
  return (await entered(work)).flatMap(({ url }) => fileAt(url) ?? []).sort()
}

/**
 * The chains of files, each the caller of the next, that led to any function which ran meanwhile. `work` is done twice: functions that it enters the
 * first time are watched the second time.
 */
export async function callChains(work: () => Promise<unknown>): Promise<ReadonlySet<string>> {
  const watched = await entered(work)
  const fileOf = new Map(watched.map(({ scriptId, url }) => [scriptId, fileAt(url)]))
  const chains = new Set<string>()
  const session = new Session()
  session.connect()
  const post = (method: string, params: object): Promise<unknown> =>
    new Promise((resolve, reject) =>
      session.post(method, params, (error, result) => (error === null ? resolve(result) : reject(error))),
    )
  session.on('Debugger.paused', ({ params }) => {
    const scripts = params.callFrames.map(({ location }) => location.scriptId).concat(awaiting(params.asyncStackTrace))
    const files = scripts.flatMap((scriptId) => fileOf.get(scriptId) ?? []).reverse()
    chains.add(files.filter((file, at) => file !== files[at - 1]).join(' > '))
  })
  try {
    await post('Debugger.enable', {})
    await post('Debugger.setAsyncCallStackDepth', { maxDepth: ASYNC_DEPTH })
    for (const { scriptId, begins } of watched) {
      const { scriptSource } = (await post('Debugger.getScriptSource', { scriptId })) as { scriptSource: string }
      for (const begin of begins) {
        const place = { start: placeOf(scriptId, scriptSource, begin), restrictToFunction: true }
        const found = (await post('Debugger.getPossibleBreakpoints', place)) as { locations: Debugger.Location[] }
        const [location] = found.locations
        // Two functions may begin at one place, such as those of a list of members that hold nothing else.
        if (location !== undefined) await post('Debugger.setBreakpoint', { location }).catch(() => undefined)
      }
    }
    await work()
  } finally {
    session.disconnect()
  }
  return chains
}

function awaiting(trace: Debugger.PausedEventDataType['asyncStackTrace']): string[] {
  return trace === undefined ? [] : trace.callFrames.map(({ scriptId }) => scriptId).concat(awaiting(trace.parent))
}

function placeOf(scriptId: string, source: string, offset: number): Debugger.Location {
  const lines = source.slice(0, offset).split('\n')
  return { scriptId, lineNumber: lines.length - 1, columnNumber: lines.at(-1)?.length ?? 0 }
}
