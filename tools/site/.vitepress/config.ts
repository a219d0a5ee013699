import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

/** The repository itself: the links of a page lead to the same places on a disk, in a viewer of repositories, and here. */
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

const SIDEBAR = [
  { text: 'Tutorials', pages: ['README', 'docs/tutorials/first-audit'] },
  { text: 'How to', pages: pagesIn('docs/how-to') },
  {
    text: 'Reference',
    pages: ['agents', 'judgement', 'http', 'client', 'cli', 'configuration', 'events', 'export-fields', 'glossary'].map(
      inDocs,
    ),
  },
  { text: 'For auditors', pages: ['auditors', 'compliance', 'guarantees', 'threat-model'].map(inDocs) },
  { text: 'For operators', pages: ['operations', 'cluster', 'dashboard'].map(inDocs) },
  { text: 'The code', pages: ['docs/architecture', 'CONTRIBUTING', 'SECURITY', 'CHANGELOG'] },
  { text: 'Specification', pages: pagesIn('docs/spec'), collapsed: true },
  { text: 'Decisions', pages: pagesIn('docs/decisions'), collapsed: true },
]

const listed = SIDEBAR.flatMap(({ pages }) => pages)
const lost = ['docs', 'docs/tutorials'].flatMap(pagesIn).filter((page) => !listed.includes(page))
if (lost.length > 0) throw new Error(`not in the sidebar: ${lost.join(', ')}`)

// biome-ignore lint/style/noDefaultExport: VitePress takes it so
export default defineConfig({
  title: 'Countersign',
  description: 'The append-only, signed ledger that AI-agent systems run on.',
  srcDir: ROOT,
  srcExclude: ['**/{node_modules,dist,bundle,test,tools,bench,src,scripts,bundled,examples}/**'],
  outDir: fileURLToPath(new URL('../out', import.meta.url)),
  rewrites: { 'README.md': 'index.md' },
  // Documents are not templates: what looks like a tag is text.
  markdown: { html: false },
  // Folders and programs are read in the repository; a test of the documents checks that they are there.
  ignoreDeadLinks: [/\/index$/, /\/(examples|deploy)\//],
  // Pages lie outside of the folder that has the library which they are compiled to.
  vite: {
    resolve: {
      alias: [{ find: /^vue(?=\/|$)/, replacement: fileURLToPath(new URL('../node_modules/vue', import.meta.url)) }],
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: SIDEBAR.map(({ pages, ...group }) => ({
      ...group,
      items: pages.map((page) => ({ text: titleOf(page), link: `/${page.replace(/^README$/, '')}` })),
    })),
  },
})

function inDocs(page: string): string {
  return `docs/${page}`
}

function pagesIn(folder: string): readonly string[] {
  const files = readdirSync(join(ROOT, folder)).filter((name) => name.endsWith('.md'))
  return files.sort().map((name) => `${folder}/${name.slice(0, -'.md'.length)}`)
}

/** The first heading. */
function titleOf(page: string): string {
  return /^# (.*)$/m.exec(readFileSync(join(ROOT, `${page}.md`), 'utf8'))?.[1] ?? page
}
