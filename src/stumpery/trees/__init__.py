"""Trees on a stream: Hoeffding trees and forests, click predictors, and the array forest under all forests."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
