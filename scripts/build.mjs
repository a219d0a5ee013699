// Compiles everything into dist; the compiler's notes in dist let the next build compile only what changed. `--if-stale` does nothing where
// dist is newer than every source: `npx countersign` runs `prepare` before its first use, and must not rewrite the files of a running ledger.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { buildVerifier } from './build-verifier.mjs'
import { bundlePrograms, bundleTestPrograms } from './bundle-programs.mjs'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const DIST = join(ROOT, 'dist')
const DESCRIPTION = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const STAMP = join(DIST, '.built')
/** What the compiler remembers of its last run: contents, options and versions it compiled, and the errors it found. */
const BUILD_INFO = join(DIST, '.tsbuildinfo')
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
  'biome.json',
]
/** `projections/server-NAME.ts` each: what the event server runs by itself. */
const SERVER_PROJECTIONS = ['run', 'run-list']
/** Native, or loaded by few: no bundle of a program holds these. */
const EXTERNAL = [...Object.keys(DESCRIPTION.dependencies), ...Object.keys(DESCRIPTION.peerDependencies)]
/** The command line, as it ships and as the compiler wrote it. */
const COMMANDS = ['programs/countersign.js', 'src/cli/main.js']
/** Goes into every evidence bundle. */
const VERIFIER = join('src', 'verify', 'bundle', 'verify.mjs')

if (!process.argv.includes('--if-stale') || isStale()) await build()

async function build() {
  const startedMs = Date.now()
  const expected = expectedOutputs()
  // The compiler believes its notes, not the files: where one is gone, it starts over.
  const isComplete = existsSync(BUILD_INFO) && [...expected].every((file) => existsSync(join(DIST, file)))
  if (!isComplete) rmSync(DIST, { recursive: true, force: true })
  compile()
  for (const name of SERVER_PROJECTIONS) bundleProjection(name)
  embedWriter()
  for (const file of assets()) copyFileSync(join(ROOT, file), join(DIST, file))
  buildVerifier(join(DIST, VERIFIER))
  removeAllBut(expected)
  await bundlePrograms({ dist: DIST, external: EXTERNAL })
  await bundleTestPrograms({ dist: DIST, external: EXTERNAL })
  // The compiler and the bundler write plain files; the command that npm links must be executable.
  for (const file of COMMANDS) chmodSync(join(DIST, file), 0o755)
  writeFileSync(STAMP, '')
  // A source that changed while this ran is newer than the stamp.
  utimesSync(STAMP, startedMs / 1000, startedMs / 1000)
}

function compile() {
  const tsc = join(ROOT, 'node_modules', '.bin', process.platform === 'win32' ? 'tsc.cmd' : 'tsc')
  const { status } = spawnSync(tsc, ['-p', ROOT, '--incremental', '--tsBuildInfoFile', BUILD_INFO], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (status !== 0) process.exit(status ?? 1)
}

/** Every file that a build leaves below dist but its own notes, from the sources that are there now. */
function expectedOutputs() {
  const { include } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8'))
  const compiled = include
    .flatMap((folder) => filesBelow(join(ROOT, folder)))
    .map((path) => relative(ROOT, path))
    .filter((file) => /(?<!\.d)\.tsx?$/.test(file))
    .flatMap((file) => ['.js', '.js.map', '.d.ts'].map((ending) => file.replace(/\.tsx?$/, ending)))
  const projections = SERVER_PROJECTIONS.map((name) => join('projections', 'server', `${name}.js`))
  return new Set([...compiled, ...projections, ...assets(), VERIFIER])
}

/** A deleted test would otherwise go on running from an earlier build. */
function removeAllBut(expected) {
  for (const path of filesBelow(DIST)) {
    const file = relative(DIST, path)
    if (!expected.has(file) && path !== BUILD_INFO) rmSync(path)
  }
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

/** The writer's thread as text, for programs that bundle the package: in the place of what the compiler wrote of an empty one. */
function embedWriter() {
  const folder = join(DIST, 'src', 'store', 'sqlite')
  const { outputFiles } = buildSync({
    entryPoints: [join(folder, 'writer-worker.js')],
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node22',
    minifySyntax: true,
    minifyWhitespace: true,
    external: ['better-sqlite3'],
    write: false,
    logLevel: 'warning',
  })
  writeFileSync(
    join(folder, 'writer-source.js'),
    `export const WRITER_SOURCE = ${JSON.stringify(outputFiles[0].text)}\n`,
  )
}

/** What the pages need beside their scripts goes into dist as it is. */
function assets() {
  const files = filesBelow(join(ROOT, 'src', 'dashboard', 'assets')).map((path) => relative(ROOT, path))
  return files.filter((file) => !file.endsWith('.ts'))
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
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
