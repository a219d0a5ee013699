import { writeFileSync } from 'node:fs'
import { constants, getPriority } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { BIN, cleanEnv, runCommand } from '../support/command-line.ts'
import { type SmallStore, smallStore } from '../support/small-store.ts'

/** Prints at the end which priorities the threads of the process have. */
const WATCHED = `import { readdirSync } from 'node:fs'
import { getPriority } from 'node:os'
const threads = () => process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [0]
process.on('exit', () => process.stderr.write('priorities ' + [...new Set(threads().map((id) => getPriority(id)))]))`

const given = Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL)

const way = suite<{ store: SmallStore }>('cli: a command beside the ledger that serves the store')
way.before(async (context) => {
  context.store = await smallStore()
})
way.after(({ store }) => store[Symbol.dispose]())

async function priorities(command: readonly string[]): Promise<string | undefined> {
  const preload = `data:text/javascript,${encodeURIComponent(WATCHED)}`
  const { stderr } = await runCommand([process.execPath, '--import', preload, BIN, ...command], { env: cleanEnv() })
  return /priorities (.*)$/m.exec(stderr)?.[1]
}

way('runs below it, each of its threads, and alone with the store as it was started (RUN-100)', async ({ store }) => {
  const cwd = store.folder.path
  const commands = [
    ['verify', '--data', cwd],
    ['runs', 'list', '--json', '--data', cwd],
  ]
  for (const command of commands) assert.is(await priorities(command), String(getPriority()), `${command} alone`)
  writeFileSync(join(cwd, 'store.db.owner'), JSON.stringify({ pid: process.pid }))
  for (const command of commands) assert.is(await priorities(command), String(given), `${command} beside`)
})

way.run()
