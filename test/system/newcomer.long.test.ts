import { type ChildProcess, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { cleanEnv, collected, endOf, type Output, runCommand, spawnTracked } from '../support/command-line.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { eventually, within } from '../support/within.ts'

const test = suite('a newcomer with a fresh copy')
const ROOT = sourceRoot(dirname(fileURLToPath(import.meta.url)))
/** The build comes first. */
const START_MAX_MS = 90_000

/** From dist in the repository; a build elsewhere is tried from the repository. */
function sourceRoot(folder: string): string {
  if (existsSync(join(folder, 'tsconfig.json'))) return folder
  return dirname(folder) === folder ? process.cwd() : sourceRoot(dirname(folder))
}

const folder = tempFolder()
const copy = folder.file('countersign')
test.before(() => copySources())
test.after(() => folder[Symbol.dispose]())

/** What a clone would hold: files that git knows or would take. Modules come from here, or are installed where CI asks for it. */
function copySources(): void {
  const listed = spawnSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: ROOT, encoding: 'utf8' })
  const files = listed.stdout.split('\0').filter((file) => file !== '' && existsSync(join(ROOT, file)))
  assert.ok(files.includes('package.json'), 'the list is one of this repository')
  for (const file of files) {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    cpSync(join(ROOT, file), join(copy, file))
  }
  if (process.env.CI_FRESH !== '1') {
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    return
  }
  const installed = spawnSync('npm', ['ci'], { cwd: copy, encoding: 'utf8' })
  assert.is(installed.status, 0, installed.stderr)
}

interface Started extends AsyncDisposable {
  readonly output: Output
  /** Waits for what `ask` finds in the output, but not for a process that has ended. */
  until<T>(ask: () => T | undefined, what: string): Promise<T>
  stop(): Promise<void>
}

/** In a group of its own, since npm starts a shell that starts node. */
function start(command: readonly string[]): Started {
  const child: ChildProcess = spawnTracked(command, {
    cwd: copy,
    env: cleanEnv({ COUNTERSIGN_PORT: '0', NO_COLOR: '1' }),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = collected(child)
  const ended = endOf(child)
  const gone = ended.then(() => {
    throw new Error(`it ended: ${output.stderr}${output.stdout}`)
  })
  gone.catch(() => undefined)
  const kill = (signal: NodeJS.Signals): void => {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
      process.kill(-child.pid, signal)
  }
  return {
    output,
    until: (ask, what) => Promise.race([gone, eventually(ask, what, START_MAX_MS)]),
    stop: async () => {
      kill('SIGTERM')
      await within(ended, 'the end of npm start')
    },
    [Symbol.asyncDispose]: async () => {
      kill('SIGKILL')
      await ended
    },
  }
}

test('npm start into a pipe logs JSON lines and nothing else of its own, and ends when told', async () => {
  await using started = start(['npm', 'start', '--silent'])
  const listening = await started.until(
    () => started.output.stdout.split('\n').find((line) => line.includes('"listening"')),
    'npm start',
  )
  const { url } = JSON.parse(listening)
  assert.is((await fetch(`${url}/healthz`)).status, 200)
  await started.stop()
  const lines = started.output.stdout.trimEnd().split('\n')
  for (const line of lines) assert.is(typeof JSON.parse(line).msg, 'string', line)
  assert.ok(lines.at(-1)?.includes('"closed"'), 'the drain came to its end')
})

/** script(1) of util-linux gives a program a terminal. */
const TERMINAL = 'script'
const hasScript = spawnSync(TERMINAL, ['--version']).status === 0
if (!hasScript) console.log('skipped: npm start on a terminal, there is no script(1)')
const onTerminal = hasScript ? test : test.skip

onTerminal(
  'npm start on a terminal shows lines that work when pasted: a run, 201, a contradiction, VERIFIED',
  async () => {
    await using started = start([TERMINAL, '-qec', 'npm start', '/dev/null'])
    const text = await eventually(
      () => (started.output.stdout.includes('npm run tour') ? started.output.stdout.replaceAll('\r', '') : undefined),
      'the greeting',
    )
    const [, shown = ''] = /In another terminal:\n((?: {2}.+\n)+)/.exec(text) ?? []
    const lines = shown
      .trimEnd()
      .split('\n')
      .map((line) => line.trim())
    assert.ok(lines.length >= 5 && lines.length <= 7, shown)

    const pasted = await runCommand(['bash', '-e'], { cwd: copy, env: cleanEnv(), stdin: `${lines.join('\n')}\n` })
    assert.is(pasted.code, 0, pasted.stdout + pasted.stderr)
    const [run = '{}', accepted = '{}', refused = '{}', ...verdict] = pasted.stdout
      .split('\n')
      .filter((line) => line !== '')
    assert.is(JSON.parse(run).runId, 'hello')
    assert.is(JSON.parse(accepted).step, 1)
    assert.is(JSON.parse(refused).code, 'contradiction')
    assert.is(JSON.parse(refused).status, 409)
    assert.match(verdict.join('\n'), /VERIFIED/)
  },
)

test.run()
