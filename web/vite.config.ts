import { fileURLToPath } from 'node:url'
import tailwindcss from '@tailwindcss/vite'
import { defineConfig } from 'vite'
import { precompress } from './precompress.ts'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  plugins: [tailwindcss(), precompress()],
  resolve: {
    // The form library names its usual validator, in a part that we do not use.
    alias: { '@rjsf/validator-ajv8': at('no-validator.ts') },
  },
  build: {
    target: 'es2024',
    modulePreload: { polyfill: false },
    // What stands in a page as data: would have to be allowed by its policy.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      checks: { pluginTimings: false },
      // "use client" means something to servers that render; there is none here.
      onLog(level, log, handle) {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log)
      },
    },
  },
})
