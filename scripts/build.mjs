// Compiles everything into dist. `--if-stale` does nothing where dist is newer than every source: `npx countersign` runs `prepare`
// before its first use, and must not take the files away from under a running ledger.
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const DIST = join(ROOT, 'dist')
const STAMP = join(DIST, '.built')
const SOURCES = [
  'schemas',
  'projections',
  'scripts',
  'src',
  'test',
  'bench',
  'examples',
  'package.json',
  'tsconfig.json',
]
/** `projections/server-NAME.ts` each: what the event server runs by itself. */
const SERVER_PROJECTIONS = ['run', 'run-list']
/** Goes into every evidence bundle as it stands, comments and all. */
const AS_IS = ['src/export/bundle/verify.mjs']

if (!process.argv.includes('--if-stale') || isStale()) build()

function build() {
  // A deleted test would otherwise go on running from the last build.
  rmSync(DIST, { recursive: true, force: true })
  const tsc = join(ROOT, 'node_modules', '.bin', process.platform === 'win32' ? 'tsc.cmd' : 'tsc')
  const { status } = spawnSync(tsc, ['-p', ROOT], { stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) process.exit(status ?? 1)
  for (const name of SERVER_PROJECTIONS) bundleProjection(name)
  copyAssets()
  for (const file of AS_IS) copyFileSync(join(ROOT, file), join(DIST, file))
  // tsc writes plain files; the command that npm links must be executable.
  chmodSync(join(DIST, 'src', 'cli', 'main.js'), 0o755)
  writeFileSync(STAMP, '')
}

/**
 * One script for EventStoreDB's own engine: the folds in a function of their own, then the definition. Each stream of the category `run` is a
 * partition. No `outputState()`: it would write the whole state as an event of its own at each event. The engine is an interpreter that
 * knows no later syntax than this target for sure.
 */
function bundleProjection(name) {
  buildSync({
    entryPoints: [join(ROOT, 'projections', `server-${name}.ts`)],
    outfile: join(DIST, 'projections', 'server', `${name}.js`),
    bundle: true,
    format: 'iife',
    globalName: 'countersign',
    target: 'es2020',
    logLevel: 'warning',
    footer: {
      js: "fromCategory('run').foreachStream().when({ $init: countersign.init, $any: countersign.evolve })",
    },
  })
}

/** What the pages need beside the scripts that tsc has written. */
function copyAssets() {
  const folder = join('src', 'dashboard', 'assets')
  for (const name of readdirSync(join(ROOT, folder))) {
    if (!name.endsWith('.ts')) copyFileSync(join(ROOT, folder, name), join(DIST, folder, name))
  }
}

function isStale() {
  if (!existsSync(STAMP)) return true
  const builtMs = statSync(STAMP).mtimeMs
  return SOURCES.some((name) => existsSync(join(ROOT, name)) && newestMs(join(ROOT, name)) > builtMs)
}

function newestMs(path) {
  const own = statSync(path)
  if (!own.isDirectory()) return own.mtimeMs
  return readdirSync(path).reduce((newest, name) => Math.max(newest, newestMs(join(path, name))), own.mtimeMs)
}
