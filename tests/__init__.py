from pkgutil import iter_modules

import pytest

# Failed assertions in the modules that help tests show their values, as those in tests do.
pytest.register_assert_rewrite(*(f"{__name__}.{module.name}" for module in iter_modules(__path__)))
