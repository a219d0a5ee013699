// Compiles everything into dist. `--if-stale` does nothing where dist is newer than every source: `npx countersign` runs `prepare`
// before its first use, and must not take the files away from under a running ledger.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const DIST = join(ROOT, 'dist')
const STAMP = join(DIST, '.built')
const SOURCES = ['schemas', 'projections', 'src', 'test', 'bench', 'examples', 'package.json', 'tsconfig.json']

if (!process.argv.includes('--if-stale') || isStale()) build()

function build() {
  // A deleted test would otherwise go on running from the last build.
  rmSync(DIST, { recursive: true, force: true })
  const tsc = join(ROOT, 'node_modules', '.bin', process.platform === 'win32' ? 'tsc.cmd' : 'tsc')
  const { status } = spawnSync(tsc, ['-p', ROOT], { stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) process.exit(status ?? 1)
  // tsc writes plain files; the command that npm links must be executable.
  chmodSync(join(DIST, 'src', 'cli', 'main.js'), 0o755)
  writeFileSync(STAMP, '')
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
