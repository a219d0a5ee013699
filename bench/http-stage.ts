/** @module The setup for the HTTP rows: the server as users run it, one that accepts any token, one that only echoes, and runs to write to. */
import { startRun as startBody } from './http-requests.ts'
import { storeFile } from './local-ledger.ts'
import { type RawRow, sampleEnvelopes } from './raw-sqlite.ts'
import { makeToken, type ServerChild, START_FLAGS, serveLedger, startChild } from './server-child.ts'
import { makeTempFolder, type TempFolder } from './temp-folder.ts'

export const RUNS = 64

export interface Target {
  readonly url: string
  readonly token: string
}

export interface Stage extends AsyncDisposable {
  readonly folder: TempFolder
  readonly ledger: Target
  /** The same server without a check of tokens, on a separate store. */
  readonly open: Target
  readonly echo: Target
  /** Rows that the ledger wrote for its last envelopes. */
  readonly rows: () => readonly RawRow[]
  /** Number of events that are sealed and durable since the start of the server. */
  readonly appendedEvents: (target: Target) => Promise<number>
}

export async function setStage(parent: string): Promise<Stage> {
  const folder = makeTempFolder(parent)
  const children: ServerChild[] = []
  const close = async (): Promise<void> => {
    for (const child of children.splice(0)) await child[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  }
  try {
    const data = folder.at('data')
    const server = keep(children, await serveLedger(data, START_FLAGS))
    const open = keep(children, await startChild('open-child.js', [folder.at('open')]))
    const echo = keep(children, await startChild('echo-child.js', []))
    const ledger = { url: server.url, token: makeToken(data, 'runs:write runs:read') }
    const stage: Stage = {
      folder,
      ledger,
      open: { url: open.url, token: 'any' },
      echo: { url: echo.url, token: ledger.token },
      rows: () => sampleEnvelopes(storeFile(data), 'run-default.s0'),
      appendedEvents,
      [Symbol.asyncDispose]: close,
    }
    await startRuns(stage.ledger)
    await startRuns(stage.open)
    return stage
  } catch (error) {
    await close()
    throw error
  }
}

function keep(children: ServerChild[], child: ServerChild): ServerChild {
  children.push(child)
  return child
}

export async function startRuns({ url, token }: Target): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  for (let run = 0; run < RUNS; run += 1) {
    const answer = await fetch(`${url}/v1/runs`, { method: 'POST', headers, body: startBody(run) })
    if (answer.status !== 201) throw new Error(`a run could not be started: ${answer.status} ${await answer.text()}`)
    await answer.arrayBuffer()
  }
}

export async function appendedEvents({ url }: Pick<Target, 'url'>): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const count = /^countersign_appended_events_total (\d+)$/m.exec(text)?.[1]
  if (count === undefined) throw new Error('the metrics do not say how many events were appended')
  return Number(count)
}
