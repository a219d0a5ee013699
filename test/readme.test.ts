import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { SETTINGS, type Setting, variableOf } from '../src/settings/settings.ts'
import { ROOT } from './support/source-root.ts'

const readme = suite('README')

const TEXT = readFileSync(join(ROOT, 'README.md'), 'utf8')
/** Longest README, in bytes: a stranger reads it whole; everything else has a page of its own in `docs/`. */
const README_MAX_BYTES = 9_000
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  ...['docs', 'docs/how-to', 'docs/tutorials', 'docs/spec', 'docs/decisions'].flatMap(pagesIn),
]

readme('it is short', () => {
  assert.ok(Buffer.byteLength(TEXT) <= README_MAX_BYTES, `the README has ${Buffer.byteLength(TEXT)} bytes`)
})

readme('every block of a page that names a file is that file', () => {
  const blocks = PAGES.flatMap((page) => [...read(page).matchAll(/```\w+ file=(\S+)\n([\s\S]*?)```/g)])
  assert.ok(blocks.length > 1, 'the pages show code that runs')
  for (const [, file = '', code] of blocks) assert.is(read(file), code)
})

readme('the table of settings is the one that the code reads', () => {
  const table = /<!-- settings -->\n([\s\S]*?)\n<!-- \/settings -->/.exec(read('docs/configuration.md'))?.[1]
  assert.is(table, settingsTable())
})

readme('every document, and every anchor in it, that a page links to is there', () => {
  const broken = PAGES.flatMap((page) => linksOf(page).filter((link) => !leadsSomewhere(page, link)))
  assert.equal(broken, [])
})

readme.run()

/** The table of settings as docs/configuration.md has it. */
function settingsTable(): string {
  const rows = Object.entries<Setting>(SETTINGS).map(([name, { about, fallback, shownDefault }]) => {
    const shown = shownDefault ?? `\`${fallback ?? ''}\``
    return `| \`--${name}\` | \`${variableOf(name)}\` | ${shown} | ${about} |`
  })
  return ['| flag | variable | default | meaning |', '|---|---|---|---|', ...rows].join('\n')
}

function read(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8')
}

function pagesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)
}

function linksOf(page: string): string[] {
  return [...read(page).matchAll(/\]\((?!http)([^)\s]+)\)/g)].map((match) => match[1] ?? '')
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(ROOT, target))) return false
  return anchor === undefined || read(target).includes(`id="${anchor}"`) || headingsOf(target).includes(anchor)
}

/** The anchors that a heading has where Markdown is shown: its words in lower case, with dashes. */
function headingsOf(page: string): readonly string[] {
  return [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replace(/\s/g, '-'),
  )
}
